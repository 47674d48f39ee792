package host

import (
	"fmt"
	"os"
	"strings"
)

func clockSource() string {
	text, err := os.ReadFile("/sys/devices/system/clocksource/clocksource0/current_clocksource")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(text))
}

func portRange() (low, high int64, ok bool) {
	text, err := os.ReadFile("/proc/sys/net/ipv4/ip_local_port_range")
	if err != nil {
		return 0, 0, false
	}
	n, err := fmt.Sscan(string(text), &low, &high)
	return low, high, err == nil && n == 2 && low <= high
}
