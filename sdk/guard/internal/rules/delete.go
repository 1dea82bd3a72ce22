package rules

import (
	"slices"
	"strings"

	"github.com/picoclaw/picoclaw/sdk/guard/internal/getopt"
	"github.com/picoclaw/picoclaw/sdk/guard/internal/shell"
)

var deleteRules = []Rule{
	{
		ID: "exec.rm-recursive", Names: "rm grm srm unlink", Match: anyOf(flag("-r", "-R", "--recursive"), prefix("-"+shell.Unknown)),
		Reason: "deletes directories with everything in them",
		Safer:  "delete the files that you mean by their names",
		Seeds:  []string{`\brm\s+-[rf]{1,2}\b`},
		Hit:    []string{"rm -rf build", "rm -vrf x", "rm --recurs x", "rm x -R"},
		Miss:   []string{"rm a.tmp", "rm -v a b", "rm -- -r"},
	},
	{
		ID: "exec.rm-recursive", Names: "rimraf del-cli trash-empty", Match: operand,
		Reason: "deletes directories with everything in them",
		Safer:  "delete the files that you mean by their names",
		Hit:    []string{"rimraf dist"}, Miss: []string{"rimraf --help"},
	},
	{
		ID: "exec.rm-force", Names: "rm grm srm unlink", Match: both(flag("-f", "--force"), not(flag("-r", "-R", "--recursive"))),
		Reason: "deletes without asking, write-protected files too",
		Safer:  "use rm without -f",
		Seeds:  []string{`\brm\s+-[rf]{1,2}\b`},
		Hit:    []string{"rm -f a", "rm --force a"},
		Miss:   []string{"rm a", "rm -i a"},
	},
	{
		ID: "exec.rm-bulk", Names: "rm grm srm unlink rmdir shred truncate trash trash-put", Match: via("xargs", "gxargs", "find", "gfind", "fd", "fdfind", "parallel"),
		Reason: "deletes whatever another command finds",
		Safer:  "print the names first, then delete those that you mean",
		Hit:    []string{"xargs rm", "find . -exec rm {} ;"},
		Miss:   []string{"rm a b"},
	},
	{
		ID: "exec.rm-recursive", Names: "git", Match: gitRemoves,
		Reason: "deletes directories with everything in them, changes that aren't committed included",
		Safer:  "leave out -f, so that git keeps what it can't bring back",
		Hit:    []string{"git rm -rf build", "git rm -r --force src", "git -C . rm src -r -f"},
		Miss:   []string{"git rm -r build", "git rm -f a.txt", "git rm -rf --cached node_modules", "git rm -rfn x"},
	},
	{
		ID: "exec.find-delete", Names: "find gfind", Match: word("-delete"),
		Reason: "deletes everything that it finds",
		Safer:  "use -print first, then delete the files that you mean",
		Hit:    []string{"find . -name x -delete"},
		Miss:   []string{"find . -name x", "find . -name delete"},
	},
	{
		ID: "exec.git-clean", Names: "git", Match: gitClean,
		Reason: "deletes every file that git doesn't know, which it can't bring back",
		Safer:  "print the names with git clean -nd, then delete those that you mean",
		Hit:    []string{"git clean -fdx", "git clean -f", "git -C sub clean -xdf", "git clean --force -d", "git -c clean.requireForce=false clean -d", "git clean -n -fd --no-dry-run", "git clean -f -e -n"},
		Miss:   []string{"git clean -n", "git clean -nd", "git clean --dry-run -d", "git clean --help", "git commit -m clean", "git checkout clean"},
	},
	{
		ID: "exec.git-history", Names: "git", Match: forgets,
		Reason: "drops the record by which git brings lost commits back",
		Safer:  "leave the expiring to git gc, which keeps what is recent",
		Hit:    []string{"git reflog expire --expire=now --all", "git reflog expire --all --expire-unreachable now", "git -c gc.reflogExpire=now gc", "git -C sub reflog expire --expire=all --all", "git config gc.reflogExpireUnreachable now", "git reflog expire --expire=0 HEAD", "git stash clear"},
		Miss:   []string{"git reflog", "git reflog show main", "git gc", "git gc --prune=now", "git reflog expire --expire=90.days --all", "git reflog expire -n --expire=now --all", "git config gc.auto 0", "git stash drop", "git commit -m now", "git stash list"},
	},
	{
		ID: "exec.shred", Names: "shred srm wipe scrub", Match: operand,
		Reason: "overwrites files beyond recovery",
		Hit:    []string{"shred -u a"},
		Miss:   []string{"shred --version"},
	},
	{
		ID: "exec.mirror-delete", Names: "rsync rclone robocopy lftp", Match: both(anyOf(
			prefix("--del", "--remove-source", "/mir", "/purge", "/move", "/mov"), verb("purge", "sync", "delete", "rmdirs")), not(flag("-n", "--dry-run"))),
		Reason: "deletes what the other side doesn't have",
		Safer:  "copy without deleting; a run with -n --delete shows what is too much there",
		Hit:    []string{"rsync -a --delete empty/ ./", "robocopy a b /MIR"},
		Miss:   []string{"rsync -a a/ b/", "rsync -avn --delete a/ b/"},
	},
}

var archiveRules = []Rule{
	{
		ID: "exec.rm-recursive", Names: "tar gtar bsdtar zip 7z 7za 7zz 7zr rar", Match: removesPacked,
		Reason: "deletes what it has packed",
		Safer:  "pack without deleting, then delete the files that you mean",
		Hit:    []string{"tar --remove-files -cf a.tar src", "tar czf a.tgz src --remove-f", "zip -rm a.zip src", "zip a.zip b --move", "7z a -sdel a.7z src", "rar m a.rar src"},
		Miss:   []string{"tar -cf a.tar src", "zip -r a.zip m", "7z a a.7z src", "zip -r a.zip . -x node_modules", "rar a a.rar src"},
	},
	{
		ID: "exec.rm-bulk", Names: "mv gmv", Match: func(c *Command) bool {
			into, _ := c.Opts().Value("-t", "--target-directory")
			return into == "/dev/null" || len(c.Args) > 1 && c.Args[len(c.Args)-1] == "/dev/null"
		},
		Reason: "puts files where nothing brings them back",
		Safer:  "delete the files that you mean by their names",
		Hit:    []string{"mv a /dev/null", "mv -t /dev/null a"},
		Miss:   []string{"mv a b", "mv a null"},
	},
	{
		ID: "exec.rm-bulk", Names: "cp gcp", Match: both(via("xargs", "gxargs", "find", "gfind", "fd", "fdfind", "parallel"), word("/dev/null")),
		Reason: "empties whatever another command finds",
		Safer:  "print the names first, then empty those that you mean",
		Hit:    []string{"find . -exec cp /dev/null {} ;"},
		Miss:   []string{"cp /dev/null a", "cp a b"},
	},
}

// removesPacked says whether an archiver deletes what it packs.
func removesPacked(c *Command) bool {
	switch c.Name {
	case "zip":
		return c.Opts().Has("-m", "--move")
	case "7z", "7za", "7zz", "7zr":
		return slices.Contains(c.Args, "-sdel")
	case "rar":
		return len(c.Args) > 0 && strings.HasPrefix(c.Args[0], "m")
	}
	return c.Opts().Has("--remove-files")
}

var diskRules = []Rule{
	{
		ID: "exec.format", Tier: Hard, Names: "format diskpart mkfs mke2fs mkswap mkdosfs mkntfs mkfs.ext2 mkfs.ext3 mkfs.ext4 mkfs.xfs mkfs.vfat mkfs.fat mkfs.btrfs mkfs.ntfs mkfs.exfat mkfs.f2fs newfs " +
			"mkudffs mkisofs-device format-volume initialize-disk clear-disk diskshadow diskutil-erase",
		Reason: "formats a disk",
		Seeds:  []string{`\b(format|mkfs|diskpart)\b\s`},
		Hit:    []string{"mkfs.ext4 /dev/sdb1", "format c:", "diskpart /s x"},
		Miss:   []string{"clang-format -i a.c", "gofmt -l ."},
	},
	{
		ID: "exec.format", Tier: Hard, Match: func(c *Command) bool { return strings.HasPrefix(c.Name, "mkfs.") },
		Reason: "formats a disk", Hit: []string{"mkfs.zonefs x"}, Miss: []string{"ls mkfs.x"},
	},
	{
		ID: "exec.partition", Tier: Hard, Names: "fdisk sfdisk cfdisk gdisk sgdisk cgdisk parted gparted partprobe wipefs blkdiscard hdparm badblocks cryptsetup pvcreate pvremove vgremove vgcreate " +
			"lvremove lvcreate mdadm zpool nvme debugfs tune2fs resize2fs e2fsck fsck xfs_repair losetup dmsetup swapon swapoff flashrom fwupdmgr efibootmgr grub-install",
		Match:  not(anyOf(flag("-l", "--list", "--version", "--help", "-V", "-h"), verb("list", "status", "print"))),
		Reason: "changes disks, partitions or firmware",
		Hit:    []string{"fdisk /dev/sdb", "wipefs -a /dev/sdb"},
		Miss:   []string{"fdisk -l", "zpool status"},
	},
	{
		ID: "exec.diskutil", Tier: Hard, Names: "diskutil", Match: func(c *Command) bool {
			return strings.Contains(strings.ToLower(c.Operand(0)), "erase") || strings.Contains(strings.ToLower(c.Operand(0)), "partition") ||
				slices.Contains([]string{"apfs", "zeroDisk", "secureErase"}, c.Operand(0))
		},
		Reason: "formats a disk", Hit: []string{"diskutil eraseDisk JHFS+ x disk2"}, Miss: []string{"diskutil list"},
	},
	{
		ID: "exec.dd", Names: "dd gdd dcfldd", Match: prefix("if="),
		Reason: "copies raw data",
		Safer:  "copy files with cp, cut them with head -c, or make them with truncate -s",
		Seeds:  []string{`\bdd\s+if=`, `>/dev/(sd[a-z]|hd[a-z]|...)`},
		Hit:    []string{"dd if=a of=b", "dd bs=4M if=a of=b"},
		Miss:   []string{"dd of=out.bin bs=1k count=1"},
	},
}

// gitRemoves says whether git deletes directories, whatever has changed in them since the last commit.
func gitRemoves(c *Command) bool {
	words := c.gitWords()
	if len(words) == 0 || words[0] != "rm" {
		return false
	}
	opts := gitRemoveOptions.Parse(words[1:])
	return opts.Has("-r") && opts.Has("-f", "--force") && !opts.Has("--cached", "-n", "--dry-run")
}

var gitRemoveOptions = getopt.Parse("--pathspec-from-file=d")

// gitClean says whether git deletes what it doesn't know. Whether it does so without being forced is a setting of the machine's.
func gitClean(c *Command) bool {
	words := c.gitWords()
	if len(words) == 0 || words[0] != "clean" {
		return false
	}
	opts := gitCleanOptions.Parse(words[1:])
	return !opts.Has("-n", "--dry-run", "-h", "--help") || opts.Has("--no-dry-run")
}

var gitCleanOptions = getopt.Parse("e=d --exclude=d")

// forgets says whether git is to drop what it has recorded of where branches pointed, or all that was stashed.
func forgets(c *Command) bool {
	if !mention("reflog", "stash")(c) && !mention("reflogExpire", "reflogexpire")(c) {
		return false
	}
	words := c.gitWords()
	if len(words) > 1 && words[0] == "stash" {
		return words[1] == "clear"
	}
	expires := len(words) > 1 && words[0] == "reflog" && words[1] == "expire"
	if expires && slices.ContainsFunc(c.Args, func(arg string) bool { return arg == "-n" || arg == "--dry-run" }) {
		return false
	}
	for i, arg := range c.Args {
		option, when, _ := strings.Cut(strings.ToLower(arg), "=")
		setting := strings.HasPrefix(option, "gc.reflogexpire")
		if !setting && (!expires || !strings.HasPrefix(option, "--expire")) {
			continue
		}
		if when == "" && i+1 < len(c.Args) {
			when = c.Args[i+1]
		}
		switch strings.ToLower(when) {
		case "now", "all", "0", "1.second", "1.second.ago":
			return true
		}
	}
	return false
}
