package rules

import (
	"slices"
	"strings"
)

var deleteRules = []Rule{
	{
		ID: "exec.rm-recursive", Names: "rm grm srm unlink", Match: flag("-r", "-R", "--recursive"),
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
		ID: "exec.find-delete", Names: "find gfind", Match: word("-delete"),
		Reason: "deletes everything that it finds",
		Safer:  "use -print first, then delete the files that you mean",
		Hit:    []string{"find . -name x -delete"},
		Miss:   []string{"find . -name x", "find . -name delete"},
	},
	{
		ID: "exec.shred", Names: "shred srm wipe scrub", Match: operand,
		Reason: "overwrites files beyond recovery",
		Hit:    []string{"shred -u a"},
		Miss:   []string{"shred --version"},
	},
	{
		ID: "exec.mirror-delete", Names: "rsync rclone robocopy lftp", Match: anyOf(
			prefix("--del", "--remove-source", "/mir", "/purge", "/move", "/mov"), verb("purge", "sync", "delete", "rmdirs")),
		Reason: "deletes what the other side doesn't have",
		Hit:    []string{"rsync -a --delete empty/ ./", "robocopy a b /MIR"},
		Miss:   []string{"rsync -a a/ b/"},
	},
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
		Safer:  "copy files with cp, or cut them with head -c",
		Seeds:  []string{`\bdd\s+if=`, `>/dev/(sd[a-z]|hd[a-z]|...)`},
		Hit:    []string{"dd if=a of=b", "dd bs=4M if=a of=b"},
		Miss:   []string{"dd of=out.bin bs=1k count=1"},
	},
}
