package verdict

import "testing"

func TestAgreements(t *testing.T) {
	commit := "0e9e39f249a16976918f6564b8830bc894c89659"
	for _, c := range []struct {
		name        string
		rule        func(asked, seen string) agreement
		asked, seen string
		want        agreement
	}{
		{"revision", agreeRevision, "v0.32.0", "0.32.0", agrees},
		{"revision", agreeRevision, "0.32.0", "0.32.0+cu129", agrees},
		{"revision", agreeRevision, "v0.32.0", "0.31.0", contradicts},
		{"revision", agreeRevision, "v0.32.0", "0.32.0rc1", contradicts},
		{"revision", agreeRevision, "1", "1", agrees},
		{"revision", agreeRevision, commit, "0.32.1.dev5+g0e9e39f24", agrees},
		{"revision", agreeRevision, commit, "0.32.1.dev5+g0e9e39f24.d20260801", agrees},
		{"revision", agreeRevision, commit, "0.32.1.dev5+g1111111ab", contradicts},
		{"revision", agreeRevision, commit, "0.32.0", unknown},
		{"revision", agreeRevision, "0e9e39f", commit, agrees},
		{"revision", agreeRevision, "0e9e39f", "1e9e39f249a1", contradicts},
		{"revision", agreeRevision, "b6123", "b6123-0e9e39f2", unknown},
		{"revision", agreeRevision, "b6123", "b6123", agrees},
		{"revision", agreeRevision, "nightly", "0.32.0", unknown},

		{"GPU", agreeGPUs, "H100-SXM5-80GB", "NVIDIA H100 80GB HBM3", agrees},
		{"GPU", agreeGPUs, "H100", "NVIDIA H100 80GB HBM3", agrees},
		{"GPU", agreeGPUs, "H100SXM5", "NVIDIA H100 80GB HBM3", agrees},
		{"GPU", agreeGPUs, "A100-SXM4-40GB", "NVIDIA A100-SXM4-80GB", contradicts},
		{"GPU", agreeGPUs, "A100", "NVIDIA H100 80GB HBM3", contradicts},
		{"GPU", agreeGPUs, "H100", "NVIDIA GH200 480GB", contradicts},
		{"GPU", agreeGPUs, "A10", "NVIDIA A100-PCIE-40GB", contradicts},
		{"GPU", agreeGPUs, "L40", "NVIDIA L40S", contradicts},
		{"GPU", agreeGPUs, "L40S", "NVIDIA L40S", agrees},
		{"GPU", agreeGPUs, "H100", "NVIDIA H100 NVL", agrees},
		{"GPU", agreeGPUs, "MI300X", "AMD Instinct MI300X", agrees},
		{"GPU", agreeGPUs, "RTX 4090", "NVIDIA GeForce RTX 4090", agrees},
		{"GPU", agreeGPUs, "RTX 3090", "NVIDIA GeForce RTX 4090", contradicts},
		{"GPU", agreeGPUs, "RTX-A6000", "NVIDIA RTX A6000", agrees},
		{"GPU", agreeGPUs, "H200", "NVIDIA H200", agrees},
		{"GPU", agreeGPUs, "H100", "NVIDIA H100 80GB HBM3, NVIDIA A100-SXM4-80GB", contradicts},
		{"GPU", agreeGPUs, "the big one", "NVIDIA H100 80GB HBM3", unknown},

		{"numbers", agreeNumbers, "570.86", "570.86.15", agrees},
		{"numbers", agreeNumbers, "12.8", "12.8", agrees},
		{"numbers", agreeNumbers, "12.8", "12.80", contradicts},
		{"numbers", agreeNumbers, "12.8", "13.0", contradicts},
		{"numbers", agreeNumbers, "12.8", "latest", unknown},

		{"host", agreeHost, "h100-01", "H100-01.cluster.local", agrees},
		{"host", agreeHost, "h100-01", "h100-02", contradicts},
		{"image", agreeDigest, "vllm/vllm-openai@sha256:abcd", "sha256:abcd", agrees},
		{"image", agreeDigest, "vllm/vllm-openai@sha256:abcd", "sha256:abce", contradicts},
		{"image", agreeDigest, "vllm/vllm-openai@sha256:abcd", "vllm/vllm-openai:v0.32.0", unknown},
		{"snapshot", agreeSnapshot, "0e9e39f", "/hub/models--a--b/snapshots/" + commit, agrees},
		{"snapshot", agreeSnapshot, "1111111", "/hub/models--a--b/snapshots/" + commit, contradicts},
		{"snapshot", agreeSnapshot, commit, "org/model", unknown},
		{"watts", agreeWatts, "700", "700.5", agrees},
		{"watts", agreeWatts, "700", "500", contradicts},
		{"count", agreeCount, "4", "4", agrees},
		{"count", agreeCount, "4", "8", contradicts},
	} {
		if got := c.rule(c.asked, c.seen); got != c.want {
			t.Errorf("%s: %q against %q = %v, want %v", c.name, c.asked, c.seen, got, c.want)
		}
	}
}

// Every rule has the words that its flags need, and a severity to give.
func TestRules(t *testing.T) {
	for code, r := range rules {
		if r.words == "" {
			t.Errorf("%s has no words", code)
		}
		if r.always == "" && r.suspect == 0 && r.invalid == 0 {
			t.Errorf("%s is never raised", code)
		}
		if r.suspect > r.invalid && r.suspect != never {
			t.Errorf("%s is invalid before it is suspect", code)
		}
	}
}
