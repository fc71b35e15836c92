// Package pipeline carries out a whole run of a playbook: it makes the run directory, has the engine run the jobs and
// units, records how each ended, and makes the reports.
package pipeline
