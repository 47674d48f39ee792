package target

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// descendants lists the processes of a group and those whose environment has the mark, which they inherited: what a
// server started, wherever it went. The dead that nobody has collected yet are not listed.
func descendants(group int, mark string) []int {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	var pids []int
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil || pid == os.Getpid() {
			continue
		}
		state, pgrp, ok := stat(pid)
		if !ok || state == 'Z' || state == 'X' {
			continue
		}
		if pgrp == group || marked(pid, mark) {
			pids = append(pids, pid)
		}
	}
	return pids
}

// stat reads a process's state and group.
func stat(pid int) (state byte, group int, ok bool) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, 0, false
	}
	// The name stands in brackets and may hold any byte: what follows the last bracket is plain.
	fields := bytes.Fields(text[bytes.LastIndexByte(text, ')')+1:])
	if len(fields) < 3 {
		return 0, 0, false
	}
	group, err = strconv.Atoi(string(fields[2]))
	return fields[0][0], group, err == nil
}

func marked(pid int, mark string) bool {
	if mark == "" {
		return false
	}
	environ, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
	return err == nil && slices.Contains(strings.Split(string(environ), "\x00"), mark)
}

// commandLine is how a process was called, cut to a line's length; empty where that cannot be read.
func commandLine(pid int) string {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	if err != nil {
		return ""
	}
	line := strings.Join(strings.FieldsFunc(string(text), func(r rune) bool { return r == 0 || r == '\n' }), " ")
	return strings.ToValidUTF8("("+clip(line, 120)+")", "")
}

// portHolder is the process that listens on a TCP port, or 0 where none can be seen.
func portHolder(port int) int {
	var inodes []string
	for _, table := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		text, err := os.ReadFile(table)
		if err != nil {
			continue
		}
		inodes = append(inodes, listeners(string(text), port)...)
	}
	if len(inodes) == 0 {
		return 0
	}
	links, _ := filepath.Glob("/proc/[0-9]*/fd/*")
	for _, link := range links {
		to, err := os.Readlink(link)
		if err != nil {
			continue
		}
		inode, ok := strings.CutPrefix(to, "socket:[")
		if ok && slices.Contains(inodes, strings.TrimSuffix(inode, "]")) {
			pid, _ := strconv.Atoi(strings.Split(link, "/")[2])
			return pid
		}
	}
	return 0
}

// listeners finds the inodes of the sockets that listen on port in a table of the kernel's.
func listeners(table string, port int) []string {
	const listen = "0A"
	suffix := fmt.Sprintf(":%04X", port)
	var inodes []string
	for line := range strings.Lines(table) {
		f := strings.Fields(line)
		if len(f) > 9 && strings.HasSuffix(f[1], suffix) && f[3] == listen {
			inodes = append(inodes, f[9])
		}
	}
	return inodes
}
