package target

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/inference-sweep/sweep/sweep"
)

func TestSlowdowns(t *testing.T) {
	for _, test := range []struct {
		name, page string
		used       string // their places on the host
		want       map[string]any
	}{
		{"one of two GPUs", "nvidia-performance-575.txt", "1", map[string]any{
			sweep.ObsPowerCappedUS: int64(91403239), sweep.ObsSWThermalUS: int64(1500), sweep.ObsHWThermalUS: int64(0), sweep.ObsPowerBrakeUS: int64(2454539),
		}},
		{"both", "nvidia-performance-575.txt", "0 1", map[string]any{
			sweep.ObsPowerCappedUS: int64(91403239 + 3737587), sweep.ObsSWThermalUS: int64(1500), sweep.ObsHWThermalUS: int64(70), sweep.ObsPowerBrakeUS: int64(2454539),
		}},
		{"a driver that counts nothing", "nvidia-performance-525.txt", "0 1", map[string]any{sweep.ObsSlowedBy: "SW Power Cap, HW Thermal Slowdown"}},
		{"of which this GPU is not slowed", "nvidia-performance-525.txt", "1", map[string]any{sweep.ObsSlowedBy: "nothing"}},
		{"a card that does not say all", "nvidia-performance-na.txt", "0", map[string]any{sweep.ObsPowerCappedUS: int64(12), sweep.ObsSlowedBy: "SW Thermal Slowdown"}},
		{"a GPU that is not on the page", "nvidia-performance-na.txt", "1", nil},
		{"no GPU", "nvidia-performance-575.txt", "", nil},
		{"no such option", "", "0", nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			asked := 0
			s := new(Server)
			for _, place := range strings.Fields(test.used) {
				s.gpus = append(s.gpus, gpu{bus: map[string]string{"0": "00000000:3B:00.0", "1": "00000000:af:00.0"}[place]})
			}
			s.deps.Output = func(_ context.Context, name string, args ...string) ([]byte, error) {
				asked++
				if name != "nvidia-smi" || !slices.Equal(args, []string{"-q", "-d", "PERFORMANCE"}) {
					t.Errorf("%s %q", name, args)
				}
				if test.page == "" {
					return nil, errors.New("exit status 2")
				}
				return os.ReadFile(filepath.Join("testdata", test.page))
			}
			got := s.Slowdowns(t.Context())
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
			if test.used == "" && asked > 0 {
				t.Error("it was asked of no GPU")
			}
		})
	}
}

func FuzzParsePerformance(f *testing.F) {
	for _, name := range []string{"nvidia-performance-575.txt", "nvidia-performance-525.txt", "nvidia-performance-na.txt"} {
		text, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(text))
	}
	f.Add("GPU \nA : 1 us\nGPU \n : us\n: Active")
	f.Fuzz(func(t *testing.T, text string) {
		pages := parsePerformance(text)
		if len(pages) > strings.Count(text, "GPU ") {
			t.Errorf("%d GPUs", len(pages))
		}
		for _, page := range pages {
			slowedBy([]performance{page})
		}
	})
}
