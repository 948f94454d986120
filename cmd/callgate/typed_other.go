//go:build !linux

package main

import "os"

// discardTyped would drop what was typed before a question; here the terminal has no portable way to.
func discardTyped(*os.File) {}
