// Package host tells what the machine of the client was doing while it measured, and what it allows: processor time,
// garbage collection, the scheduler's latency, descriptors, ports, clock source, disk.
//
// It does not know what was measured, nor when a reading is a reason for doubt. What a platform does not tell is
// sweep.None or empty.
package host
