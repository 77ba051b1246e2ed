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

// table reads the server's table of one name, or of all. With whole, each row carries its object and not its metadata alone.
func (o *objects) table(ctx context.Context, namespace, name, selector string, whole bool) (*metav1.Table, error) {
	c, err := o.rest()
	if err != nil {
		return nil, err
	}
	include := metav1.IncludeMetadata
	if whole {
		include = metav1.IncludeObject
	}
	request := c.Get().Resource(o.mapping.Resource.Resource).SetHeader("Accept", tableAccept).
		NamespaceIfScoped(namespace, o.namespaced() && namespace != "").
		Param("includeObject", string(include)).Timeout(requestTimeout)
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
	return a.serverColumns(table, opts).WriteCut(a.out)
}

// serverTable is the table of what was asked for, in the order that was asked for.
func (a *app) serverTable(ctx context.Context, o *objects, target getTarget, opts getOptions) (*metav1.Table, error) {
	table, err := a.unsortedTable(ctx, o, target, opts)
	if err != nil || opts.sortBy == "" {
		return table, err
	}
	return table, sortByPath(table.Rows, opts.sortBy, func(row metav1.TableRow) (any, error) {
		var object any
		err := json.Unmarshal(row.Object.Raw, &object)
		return object, err
	})
}

func (a *app) unsortedTable(ctx context.Context, o *objects, target getTarget, opts getOptions) (*metav1.Table, error) {
	if len(target.names) == 0 {
		return o.table(ctx, a.namespace(), "", opts.selector, a.wholeRows(opts))
	}
	var all *metav1.Table
	for _, name := range target.names {
		one, err := o.table(ctx, a.oneNamespace(), name, "", a.wholeRows(opts))
		if err != nil {
			return nil, a.noObject(ctx, o, name, err)
		}
		if all == nil {
			all = one
			continue
		}
		all.Rows = append(all.Rows, one.Rows...)
	}
	return all, nil
}

// wholeRows tells whether the rows must carry their objects: to sort by what is in them, or to print them.
func (a *app) wholeRows(opts getOptions) bool {
	return opts.sortBy != "" || a.flags.output == outputJSONL
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
	columns := a.chooseColumns(server.ColumnDefinitions, opts)
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
func (a *app) chooseColumns(defined []metav1.TableColumnDefinition, opts getOptions) []int {
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
	columns = append(columns, age...)
	room := mostColumns
	for _, more := range []bool{a.flags.allNamespaces, opts.showLabels} {
		if more {
			room--
		}
	}
	if a.flags.output == outputWide {
		return columns
	}
	return narrowColumns(defined, columns, room)
}

// mostColumns is how many columns a table has that is not wide, so that it fits on a screen.
const mostColumns = 7

// narrowColumns leaves columns out until the rest has room: first those of the Cluster API's kinds that say least, then those
// farthest right. The name at the left and the age at the right stay.
func narrowColumns(defined []metav1.TableColumnDefinition, columns []int, room int) []int {
	for _, least := range []string{"failure domain", "clusterclass", "initialized", "current", "available", "available", "up-to-date"} {
		if len(columns) <= room {
			return columns
		}
		// Of two columns of a name the later one goes first.
		for i := len(columns) - 1; i > 0; i-- {
			if strings.EqualFold(defined[columns[i]].Name, least) {
				columns = slices.Delete(columns, i, i+1)
				break
			}
		}
	}
	for len(columns) > max(room, 2) {
		columns = slices.Delete(columns, len(columns)-2, len(columns)-1)
	}
	return columns
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
