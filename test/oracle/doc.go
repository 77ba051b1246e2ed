// Package oracle holds Slipway's API against the Cluster API's own: the same objects, the same bytes, the same schemas.
// It has no code but tests, and a module of its own, so that nothing else can import upstream.
package oracle
