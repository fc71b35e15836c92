// Package doc reads a YAML file into a tree whose nodes know their positions, and decodes the tree strictly into Go
// values. Every problem has a position and a path, and all problems of a file are reported at once:
//
//	d := doc.Parse("demo.yaml", data)
//	var v struct {
//		Name  string `yaml:"name,required" doc:"What to call it."`
//		Count int    `yaml:"count" default:"1" min:"1" doc:"How often."`
//	}
//	d.Root.Decode(&v)
//	if err := d.Err(); err != nil {
//		return err // demo.yaml:3:1: nmae: unknown key, did you mean "name"?
//	}
//
// The YAML it accepts is limited to what JSON can express, plus comments, anchors and all kinds of quoting: true and
// false are the only booleans, numbers are decimal, keys are strings, tags and merge keys are refused. Anything that
// YAML 1.1 and 1.2 read differently, or that looks like a number but is not one in JSON, is reported, never guessed.
package doc
