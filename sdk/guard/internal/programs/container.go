package programs

import (
	"github.com/picoclaw/picoclaw/sdk/guard/internal/getopt"
	"github.com/picoclaw/picoclaw/sdk/guard/internal/shell"
)

var (
	dockerSpec = stop(getopt.Parse("H=d c=d l=d --host=d --context=d --config=g --log-level=d --tlscacert=r --tlscert=r --tlskey=r"))
	dockerSub  = getopt.Parse("f=r t=d v=s p=d e=d w=d u=d o=w i=r n=d l=d a=d c=d m=d h=d --file=r --tag=d --volume=s --mount=s --publish=d --env=d --workdir=d --user=d --output=s --input=r --name=d " +
		"--label=d --build-arg=d --platform=d --target=d --secret=s --ssh=s --env-file=r --filter=d --format=d --network=d --entrypoint=d --iidfile=w --cidfile=w --project-name=d --profile=d --project-directory=g --since=d --until=d --tail=d --cache-from=d --cache-to=d --scale=d --password=d --username=d")
)

// docker has options of its own before the verb, and others behind it.
func docker(_ string, args []shell.Field) []Use {
	parsed := dockerSpec.Parse(shell.Texts(args))
	var uses []Use
	for _, opt := range parsed.Options {
		if opt.Has && opt.Roles != "" {
			uses = append(uses, Use{Kind: Kind(opt.Roles[0]), Text: opt.Value})
		}
	}
	if len(parsed.Operands) == 0 {
		return uses
	}
	rest := args[parsed.Operands[0]:]
	verb := rest[0].Text
	sub := dockerSub.Parse(shell.Texts(rest[1:]))
	for _, opt := range sub.Options {
		if opt.Has && opt.Roles != "" {
			uses = append(uses, Use{Kind: Kind(opt.Roles[0]), Text: opt.Value})
		}
	}
	for _, i := range sub.Operands {
		arg := rest[1+i]
		switch {
		case verb == "cp" && hostPath(arg.Text):
		case verb == "build" || verb == "cp" || verb == "import" || verb == "buildx" || verb == "image" || verb == "container":
			uses = append(uses, Use{Kind: Shape, Text: arg.Text, Glob: arg.Glob})
		}
	}
	return uses
}
