// Package greeting stands in for a package of somebody else.
package greeting

// For returns what the page says.
func For(name string) string { return "Fruit from " + name }
