package rules

import (
	"slices"
	"strings"
)

// publishRules are about what is given to everybody: like what is pushed to a repository of git, it can't be taken back.
var publishRules = unlessDry([]Rule{
	{
		ID: "exec.publish", Names: "npm pnpm yarn bun cnpm", Match: both(func(c *Command) bool {
			first, second := c.Operand(0), c.Operand(1)
			if first == "npm" {
				first, second = second, c.Operand(2) // yarn npm publish
			}
			for _, whole := range []string{"publish", "unpublish", "deprecate"} {
				if len(first) > 3 && strings.HasPrefix(whole, first) {
					return true // npm takes the beginning for the whole
				}
			}
			switch first {
			case "publish", "unpublish", "deprecate", "pub", "pu":
				return true
			case "dist-tag", "owner", "access":
				return slices.Contains([]string{"add", "rm", "set", "grant", "revoke"}, second)
			}
			return false
		}),
		Reason: "publishes a package, or changes a published one", Safer: saferPublish,
		Hit:  []string{"npm publish", "npm publish --access public", "pnpm publish -r", "yarn npm publish", "npm --workspace a publish", "npm unpublish x", "npm publ", "npm dist-tag add x@1 latest", "bun publish"},
		Miss: []string{"npm publish --dry-run", "npm pack", "npm run publish", "npm version patch", "npm dist-tag ls x", "yarn npm info x", "npm install publish", "npm owner ls x"},
	},
	{
		ID: "exec.publish", Names: "cargo", Match: both(mention("publish", "yank", "owner", "release"), func(c *Command) bool {
			verb := c.Operand(0)
			if strings.HasPrefix(verb, "+") {
				verb = c.Operand(1)
			}
			return (verb == "publish" || verb == "yank" || verb == "release" && c.Opts().Has("-x", "--execute") || verb == "owner" && c.Opts().Has("-a", "-r", "--add", "--remove")) && !c.Opts().Has("-n")
		}),
		Reason: "publishes a package, or changes a published one", Safer: saferPublish,
		Hit:  []string{"cargo publish", "cargo publish -p core --allow-dirty", "cargo +stable publish", "cargo yank --version 1.0.0 x", "cargo release patch --execute"},
		Miss: []string{"cargo publish --dry-run", "cargo publish -n", "cargo package", "cargo build", "cargo owner --list x", "cargo release patch", "cargo test publish"},
	},
	{
		ID: "exec.publish", Names: "twine poetry uv pdm hatch flit pipenv gem dart flutter hex lerna changeset vsce ovsx wasm-pack conan charmcraft snapcraft luarocks", Match: both(mention("upload", "publish", "push", "yank", "release"), verb("upload", "publish", "push", "yank", "pub publish", "publish-package", "release")),
		Reason: "publishes a package, or changes a published one", Safer: saferPublish,
		Hit:  []string{"twine upload dist/*", "poetry publish --build", "uv publish", "gem push x-1.0.gem", "gem yank x -v 1", "dart pub publish", "vsce publish"},
		Miss: []string{"twine check dist/*", "poetry build", "uv build", "uv run publish", "gem build x.gemspec", "poetry publish --dry-run", "dart pub get", "gem list push"},
	},
	{
		ID: "exec.publish", Names: "docker podman nerdctl docker-compose podman-compose buildah", Match: both(mention("push", "type=registry"), imagePush),
		Reason: "publishes an image", Safer: saferPublish,
		Hit:  []string{"docker push r.example.com/app", "docker image push app", "docker compose push", "docker buildx build --push -t a .", "docker build --push .", "podman push app", "docker-compose push", "docker manifest push x", "docker buildx build -o type=registry ."},
		Miss: []string{"docker build -t push .", "docker pull app", "docker tag app r.example.com/app", "docker images", "docker push --help", "docker buildx build -o type=oci,dest=a.tar .", "docker save app", "docker compose up"},
	},
	{
		ID: "exec.publish", Names: "helm oras crane", Match: verb("push", "cm-push", "delete"),
		Reason: "publishes a chart or an image", Safer: saferPublish,
		Hit: []string{"helm push c.tgz oci://r.example.com/c", "crane push a.tar r.example.com/a"}, Miss: []string{"helm package c", "helm template c", "helm upgrade --install a c", "crane manifest a"},
	},
	{
		ID: "exec.publish", Names: "mvn mvnw gradle gradlew sbt mix lein", Match: both(mention("publish", "deploy"), func(c *Command) bool {
			return slices.ContainsFunc(c.Operands(), func(goal string) bool {
				goal = goal[strings.LastIndexByte(goal, ':')+1:]
				return goal == "deploy" || goal == "publish" || goal == "publishPlugins" || goal == "publishSigned" || goal == "hex.publish" || strings.HasPrefix(goal, "publishAll") || strings.HasPrefix(goal, "publish") && strings.HasSuffix(goal, "Repository")
			})
		}),
		Reason: "publishes what is built", Safer: saferPublish,
		Hit:  []string{"mvn deploy", "mvn clean deploy", "gradle publish", "gradle :core:publish", "gradlew publishAllPublicationsToMavenRepository", "mix hex.publish"},
		Miss: []string{"mvn verify", "mvn install", "gradle publishToMavenLocal", "gradle build", "gradle :deploy-service:build", "mix test", "sbt publishLocal"},
	},
	{
		ID: "exec.publish", Names: "dotnet nuget", Match: verb("nuget push", "push", "nuget delete", "delete"),
		Reason: "publishes a package, or changes a published one", Safer: saferPublish,
		Hit: []string{"dotnet nuget push a.nupkg", "nuget push a.nupkg"}, Miss: []string{"dotnet publish -c Release", "dotnet pack", "dotnet nuget list source", "nuget restore"},
	},
	{
		ID: "exec.publish", Names: "pod", Match: verb("trunk push", "repo push"),
		Reason: "publishes a package", Hit: []string{"pod trunk push A.podspec"}, Miss: []string{"pod install", "pod lib lint", "pod trunk me"},
	},
})

const saferPublish = "make the package and check it, with --dry-run where there is such; a person publishes it"

// imagePush says whether a container tool gives an image to a registry.
func imagePush(c *Command) bool {
	words := c.subcommands()
	if len(words) == 0 {
		return false
	}
	second := append(words, "")[1]
	switch words[0] {
	case "push":
		return true
	case "image", "compose", "manifest":
		return second == "push"
	case "build", "buildx", "builder", "bud":
		return slices.ContainsFunc(c.Args, func(arg string) bool {
			return arg == "--push" || strings.Contains(arg, "type=registry") || strings.Contains(arg, "push=true")
		})
	}
	return false
}
