// Package pipeline takes a playbook through a whole run: it makes the run directory, has the engine run the jobs and
// units, records how each ended, and makes the reports.
package pipeline
