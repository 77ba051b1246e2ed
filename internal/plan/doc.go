// Package plan decides what Slipway does next.
package plan
