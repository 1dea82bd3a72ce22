// Package windows splits commands of cmd.exe and PowerShell into simple commands, by those shells' own rules of
// quoting, and tells their paths. It must not know what is dangerous or what a policy allows.
package windows

import (
	"strings"

	"github.com/picoclaw/picoclaw/sdk/guard/internal/shell"
)

// Command is a simple command.
type Command struct {
	Argv    []string
	Files   []string // that its output goes to, or its input comes from
	Piped   bool     // it reads what another command prints, or a file
	Dynamic bool     // which program it is, is only known when it runs
}

// Names are the commands of cmd.exe and the cmdlets that only Windows has. A line that begins with one is meant for
// Windows, whatever shell gets it.
var Names = names(`del erase rd md dir copy xcopy robocopy move ren rename type format diskpart taskkill tasklist reg vssadmin bcdedit
	cipher takeown icacls cacls attrib runas schtasks wmic wevtutil sc net netsh powershell pwsh cmd fsutil subst mklink assoc ftype cls
	rundll32 regsvr32 mshta cscript wscript certutil bitsadmin msiexec dism sfc chkdsk label defrag diskshadow wbadmin forfiles
	remove-item ri rni get-content gc get-childitem gci set-content sc add-content ac copy-item cpi move-item mi new-item ni
	invoke-expression iex invoke-webrequest iwr invoke-restmethod irm start-process saps stop-process spps stop-computer restart-computer
	clear-content clc clear-disk format-volume initialize-disk clear-recyclebin set-acl out-file set-executionpolicy invoke-command icm
	add-type stop-service remove-itemproperty set-itemproperty new-object get-item gi foreach-object where-object select-object write-host write-output`)

// own are programs that Windows has under a name that means something else elsewhere, or that have switches with a slash.
var own = names(`find findstr sort more tree timeout where fc comp time date expand start echo set setx cd chdir mkdir rmdir pushd popd call if for rem title ver vol
	exit cls path prompt help chcp choice clip compact doskey ipconfig systeminfo driverquery whoami hostname print mode replace shutdown color break verify goto shift endlocal setlocal`)

// Own says whether a command has to be read as Windows has it: one of cmd.exe, or a cmdlet.
func Own(language, name string) bool {
	return Names[name] || own[name] || language == "powershell" && (cmdlets[name] != "" || Cmdlet(name))
}

// cmdlets are PowerShell's short names of cmdlets.
var cmdlets = aliases(`remove-item: rm ri del erase rd rmdir; get-content: gc cat type; get-childitem: gci ls dir; set-location: sl cd chdir; push-location: pushd; pop-location: popd;
	copy-item: cp cpi copy; move-item: mv mi move; rename-item: ren rni; new-item: ni; set-content: sc; add-content: ac; clear-content: clc; get-item: gi; set-item: si; clear-item: cli;
	invoke-expression: iex; invoke-webrequest: iwr curl wget; invoke-restmethod: irm; invoke-command: icm; start-process: saps start; stop-process: spps kill; get-process: ps gps;
	start-job: sajb; set-alias: sal; new-alias: nal; foreach-object: % foreach; where-object: ? where; select-object: select; sort-object: sort; write-output: echo write; tee-object: tee;
	out-host: oh; start-sleep: sleep; get-command: gcm; get-help: help man; compare-object: diff compare; measure-object: measure; get-location: pwd gl; get-history: history h; clear-host: clear cls;
	import-module: ipmo; get-variable: gv; set-variable: sv; new-psdrive: ndr mount; resolve-path: rvpa; get-itemproperty: gp; set-itemproperty: sp; remove-itemproperty: rp; invoke-item: ii; new-pssession: nsn;
	enter-pssession: etsn; get-service: gsv; start-service: sasv; stop-service: spsv; set-service: ssv; get-wmiobject: gwmi; invoke-wmimethod: iwmi; import-csv: ipcsv; export-csv: epcsv; get-alias: gal`)

// Canonical is the cmdlet that a name of PowerShell's stands for, or the name itself.
func Canonical(name string) string {
	if full := cmdlets[name]; full != "" {
		return full
	}
	return name
}

// verbs are what the names of cmdlets begin with.
var verbs = names(`add clear close compare convert convertfrom convertto copy debug disable enable enter exit expand export find foreach format get import initialize install invoke join measure move new
	out pop push read receive register remove rename reset resolve restart restore resume save select send set sort split start stop suspend tee test trace uninstall unregister update wait where write compress publish`)

// Cmdlet says whether a name has the form of a cmdlet's: a verb and a noun.
func Cmdlet(name string) bool {
	verb, noun, ok := strings.Cut(name, "-")
	return ok && noun != "" && verbs[verb]
}

func names(words string) map[string]bool {
	m := map[string]bool{}
	for _, w := range strings.Fields(words) {
		m[w] = true
	}
	return m
}

func aliases(lines string) map[string]string {
	m := map[string]string{}
	for _, line := range strings.Split(lines, ";") {
		full, short, _ := strings.Cut(line, ":")
		for _, word := range strings.Fields(short) {
			m[word] = strings.TrimSpace(full)
		}
	}
	return m
}

// unknown says whether part of a word isn't known.
func unknown(word string) bool { return strings.Contains(word, shell.Unknown) }
