package guard

import "testing"

// What runs on another machine names that machine's paths. The rules hold for it all the same, and so do paths of this machine's that
// stand beside it.
func TestPathsOfOtherMachines(t *testing.T) {
	p := everything()
	p.Exec.CustomAllow = []string{`(ssh|kubectl|oc) .*`}
	g := mustNew(t, p)
	for line, want := range map[string]Verdict{
		"adb shell ls /sdcard":                             Allow,
		"adb -s emulator-5554 shell 'cat /proc/meminfo'":   Allow,
		"adb shell getprop ro.build.version.release":       Allow,
		"adb pull /sdcard/log.txt out/":                    Allow,
		"adb push build/app.apk /data/local/tmp/":          Allow,
		"adb install -r build/app.apk":                     Allow,
		"adb logcat -d | tail -50":                         Allow,
		"adb shell dumpsys activity > out/activity.txt":    Allow,
		"adb exec-out screencap -p > shot.png":             Allow,
		"adb exec-out cat /sdcard/shot.png > shot.png":     Allow,
		"adb shell rm -rf /sdcard/x":                       Deny,
		"adb shell 'ls; reboot'":                           Deny,
		"adb shell ls /sdcard > /etc/x":                    Deny,
		"adb shell \"ls $(cat /etc/passwd)\"":              Deny,
		"adb push /etc/passwd /sdcard/":                    Deny,
		"adb pull /sdcard/x /etc/cron.d/x":                 Deny,
		"adb pull /sdcard/x ../x":                          Deny,
		"adb install /home/other/x.apk":                    Deny,
		"adb backup -f /home/other/x -all":                 Deny,
		"adb shell ls /sdcard; cat /etc/passwd":            Deny,
		"echo 'rm -rf /sdcard' | adb shell":                Deny,
		"echo 'ls /sdcard' | adb shell":                    Allow,
		"ssh host ls /etc":                                 Allow,
		"ssh -p 22 user@host 'cat /etc/os-release | head'": Allow,
		"ssh host rm -rf /srv":                             Deny,
		"ssh -i /home/other/key host ls":                   Deny,
		"ssh host cat /etc/hosts > /etc/hosts":             Deny,
		"kubectl exec web-0 -- cat /etc/hosts":             Allow,
		"kubectl exec web-0 -c app -- sh -c 'ls /var/log'": Allow,
		"kubectl exec web-0 -- rm -rf /data":               Deny,
		"kubectl cp web-0:/var/log/app.log app.log":        Allow,
		"kubectl cp app.log web-0:/tmp/app.log":            Allow,
		"kubectl cp web-0:/var/log/app.log /etc/app.log":   Deny,
		"kubectl cp /etc/passwd web-0:/tmp/x":              Deny,
		"kubectl --kubeconfig /home/other/config get pods": Deny,
		"kubectl apply -f - -- /etc/x":                     Deny,
		"vagrant ssh -c 'cat /etc/os-release'":             Allow,
		"vagrant ssh -c 'sudo id'":                         Deny,
	} {
		if d := decide(g, line); d.Verdict != want {
			t.Errorf("%s: %s %s %q; want %s", line, d.Verdict, d.Rule, d.Reason, want)
		}
	}
	// Nobody who allowed none of it may run it.
	g = mustNew(t, everything())
	for _, line := range []string{"ssh host ls /etc", "kubectl exec web-0 -- cat /etc/hosts", "docker exec web ls /etc"} {
		if d := decide(g, line); d.Verdict != Deny || d.Tier != tierSoft {
			t.Errorf("%s: %s by %s (%s)", line, d.Verdict, d.Rule, d.Tier)
		}
	}
}
