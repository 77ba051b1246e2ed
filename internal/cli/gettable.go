package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	"slipway.dev/slipway/internal/terminal"
)

// tableAccept asks the API server for the columns that the kind defines.
const tableAccept = "application/json;as=Table;g=meta.k8s.io;v=v1,application/json"

// rest is a client for the group of the kind.
func (o *objects) rest() (*rest.RESTClient, error) {
	config := rest.CopyConfig(o.config)
	gv := o.mapping.GroupVersionKind.GroupVersion()
	config.GroupVersion = &gv
	config.APIPath = "/apis"
	if gv.Group == "" {
		config.APIPath = "/api"
	}
	config.NegotiatedSerializer = scheme.Codecs.WithoutConversion()
	return rest.RESTClientFor(config)
}

// table reads the server's table of one name, or of all.
func (o *objects) table(ctx context.Context, namespace, name, selector string) (*metav1.Table, error) {
	c, err := o.rest()
	if err != nil {
		return nil, err
	}
	request := c.Get().Resource(o.mapping.Resource.Resource).SetHeader("Accept", tableAccept).
		NamespaceIfScoped(namespace, o.namespaced() && namespace != "").
		Param("includeObject", string(metav1.IncludeMetadata)).Timeout(requestTimeout)
	if name != "" {
		request = request.Name(name)
	}
	if selector != "" {
		request = request.Param("labelSelector", selector)
	}
	raw, err := request.Do(ctx).Raw()
	if err != nil {
		return nil, err
	}
	table := &metav1.Table{}
	// Numbers stay as they are written: as floats, big ones would be printed with an exponent.
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	if err := decoder.Decode(table); err != nil {
		return nil, fmt.Errorf("read the table of %s: %w", o.mapping.Resource.Resource, err)
	}
	return table, nil
}

func (a *app) getTable(ctx context.Context, o *objects, target getTarget, opts getOptions) error {
	table, err := a.serverTable(ctx, o, target, opts)
	if err != nil {
		return err
	}
	if len(table.Rows) == 0 {
		a.noObjects(o.mapping.Resource)
		return nil
	}
	return a.serverColumns(table, opts).Write(a.out)
}

func (a *app) serverTable(ctx context.Context, o *objects, target getTarget, opts getOptions) (*metav1.Table, error) {
	if len(target.names) == 0 {
		return o.table(ctx, a.namespace(), "", opts.selector)
	}
	var all *metav1.Table
	for _, name := range target.names {
		one, err := o.table(ctx, a.oneNamespace(), name, "")
		if err != nil {
			return nil, err
		}
		if all == nil {
			all = one
			continue
		}
		all.Rows = append(all.Rows, one.Rows...)
	}
	return all, nil
}

func (a *app) noObjects(resource schema.GroupVersionResource) {
	if a.flags.allNamespaces {
		a.say("No %s.", resource.Resource)
		return
	}
	a.say("No %s in namespace %s.", resource.Resource, a.namespace())
}

// metadataOf is what a row tells of its object beside the cells.
func metadataOf(row metav1.TableRow) metav1.PartialObjectMetadata {
	var m metav1.PartialObjectMetadata
	if err := json.Unmarshal(row.Object.Raw, &m); err != nil {
		return metav1.PartialObjectMetadata{}
	}
	return m
}

// serverColumns makes a table of a server's: NAME first, AGE last, and what it marks as less important only when wide.
func (a *app) serverColumns(server *metav1.Table, opts getOptions) terminal.Table {
	t := terminal.Table{NoHeader: a.flags.noHeaders}
	columns := a.chooseColumns(server.ColumnDefinitions)
	if a.flags.allNamespaces {
		t.Header = append(t.Header, "NAMESPACE")
	}
	for _, i := range columns {
		t.Header = append(t.Header, strings.ReplaceAll(strings.ToUpper(server.ColumnDefinitions[i].Name), " ", "-"))
	}
	if opts.showLabels {
		t.Header = append(t.Header, "LABELS")
	}
	for _, row := range server.Rows {
		m := metadataOf(row)
		var cells []terminal.Cell
		if a.flags.allNamespaces {
			cells = append(cells, terminal.Cell{Text: firstOf(m.Namespace, none)})
		}
		for _, i := range columns {
			cells = append(cells, terminal.Cell{Text: a.cellText(row, i, server.ColumnDefinitions[i])})
		}
		if opts.showLabels {
			cells = append(cells, terminal.Cell{Text: labelText(m.Labels)})
		}
		t.Rows = append(t.Rows, cells)
	}
	return t
}

// chooseColumns puts the age last, and leaves out what only -o wide shows.
func (a *app) chooseColumns(defined []metav1.TableColumnDefinition) []int {
	var columns, age []int
	for i, c := range defined {
		switch {
		case c.Priority > 0 && a.flags.output != outputWide:
		case strings.EqualFold(c.Name, "age"):
			age = append(age, i)
		default:
			columns = append(columns, i)
		}
	}
	return append(columns, age...)
}

func (a *app) cellText(row metav1.TableRow, i int, c metav1.TableColumnDefinition) string {
	if i >= len(row.Cells) || row.Cells[i] == nil {
		return none
	}
	text := fmt.Sprint(row.Cells[i])
	if c.Type == "date" {
		if at, err := time.Parse(time.RFC3339, text); err == nil {
			return humanAge(a.now().Sub(at))
		}
	}
	if text = strings.TrimSpace(text); text == "" {
		return none
	}
	return text
}

func labelText(labels map[string]string) string {
	var pairs []string
	for _, key := range slices.Sorted(maps.Keys(labels)) {
		pairs = append(pairs, key+"="+labels[key])
	}
	return firstOf(strings.Join(pairs, ","), none)
}
