package rules

import (
	"regexp"
	"slices"
	"strings"

	"github.com/picoclaw/picoclaw/sdk/guard/internal/shell"
)

// remoteDeleteRules are about what is deleted in containers, clusters and clouds, where nothing brings it back.
var remoteDeleteRules = []Rule{
	{
		ID: "exec.container-delete", Names: "docker podman nerdctl docker-compose podman-compose", Match: containerDelete,
		Reason: "deletes whatever isn't in use, of every project on this machine, with the data in it",
		Safer:  "remove what you mean by its name",
		Hit:    []string{"docker system prune -af", "docker volume prune", "podman system reset"},
		Miss:   []string{"docker rm web", "docker rm -f web", "docker compose down -v", "docker volume rm data", "docker image prune -a", "docker kill web", "docker stop web", "docker compose down", "docker rmi app", "docker system df", "docker volume ls", "docker image ls", "docker logs -f web", "docker system prune --help", "docker compose -f a.yml up", "docker image prune", "docker builder prune -f"},
	},
	{
		ID: "exec.container-delete", Names: "docker podman nerdctl", Match: both(anyOf(via("xargs", "gxargs", "parallel"), word(shell.Item)), func(c *Command) bool {
			words := c.subcommands()
			return len(words) > 0 && (words[0] == "rm" || words[0] == "rmi" || len(words) > 1 && (words[1] == "rm" || words[1] == "remove"))
		}),
		Reason: "deletes whatever containers, images or data another command finds",
		Safer:  "print the names first, then remove what you mean by its name",
		Hit:    []string{"xargs docker rm -f", "xargs -r docker volume rm", "xargs podman rmi", "docker rm -f " + shell.Item},
		Miss:   []string{"docker rm -f web", "xargs docker inspect", "xargs -n1 docker logs", "docker volume rm data"},
	},
	{
		ID: "exec.cluster", Names: "docker podman", Match: both(mention("swarm"), not((*Command).dryRun), func(c *Command) bool {
			words := c.subcommands()
			return len(words) > 1 && words[0] == "swarm" && slices.Contains([]string{"leave", "init", "join", "update", "ca"}, words[1])
		}),
		Reason: "changes which cluster this machine belongs to",
		Hit:    []string{"docker swarm leave", "docker swarm leave --force", "docker -H tcp://x swarm leave -f", "docker swarm init"},
		Miss:   []string{"docker node ls", "docker service ls", "docker stack ps app", "docker info", "docker build -t swarm .", "docker swarm leave --help"},
	},
	{
		ID: "exec.cluster", Names: "kubeadm k3d kind minikube", Match: both(verb("reset", "cluster delete --all", "delete clusters"), not((*Command).dryRun)),
		Reason: "changes which cluster this machine belongs to",
		Hit:    []string{"kubeadm reset -f", "kind delete clusters --all"}, Miss: []string{"kubeadm version", "kind delete cluster", "minikube status", "kind get clusters", "kubeadm reset --dry-run"},
	},
	{
		ID: "exec.database-delete", Names: "dropdb dropuser", Match: both(operand, not((*Command).dryRun)),
		Reason: "deletes what a database keeps, which nothing brings back",
		Hit:    []string{"dropdb app", "dropdb --if-exists -h db app", "dropuser app"},
		Miss:   []string{"dropdb --help", "createdb app", "pg_dump app", "pg_isready"},
	},
	{
		ID: "exec.database-delete", Names: "mysqladmin mariadb-admin", Match: verb("drop", "shutdown"),
		Reason: "deletes what a database keeps, or stops it",
		Hit:    []string{"mysqladmin -f drop app", "mysqladmin -u root drop app"},
		Miss:   []string{"mysqladmin ping", "mysqladmin -u root status", "mysqladmin create drop"},
	},
	{
		ID: "exec.remote-delete", Names: "ansible", Match: func(c *Command) bool {
			module, _ := c.Opts().Value("-m", "--module-name")
			args, _ := c.Opts().Value("-a", "--args")
			switch module = module[strings.LastIndexByte(module, '.')+1:]; module {
			case "reboot", "shutdown":
				return true
			case "file":
				return strings.Contains(args, "absent") && strings.Contains(args, "state")
			}
			return false
		},
		Reason: "deletes on other machines, or stops them",
		Hit:    []string{"ansible all -m file -a path=/srv,state=absent", "ansible all -b -m ansible.builtin.reboot"},
		Miss:   []string{"ansible all -m ping", "ansible web -m file -a state=directory", "ansible localhost -m setup"},
	},
	{
		ID: "exec.remote-delete", Names: "kubectl oc", Match: func(c *Command) bool {
			words := c.Operands()
			if len(words) == 0 || !slices.Contains([]string{"delete", "drain"}, words[0]) || c.dryRun() {
				return false
			}
			if words[0] == "drain" || c.Opts().Has("--all", "--all-namespaces", "-A") || prefix("--grace-period=0")(c) {
				return true
			}
			kind, _, _ := strings.Cut(append(words, "")[1], "/")
			return slices.ContainsFunc(strings.Split(strings.ToLower(kind), ","), func(kind string) bool { return slices.Contains(lasting, kind) })
		},
		Reason: "deletes what a cluster keeps, with everything in it",
		Hit:    []string{"kubectl delete ns x", "kubectl delete pods --all", "kubectl -n x delete pvc data", "kubectl delete namespace/x"},
		Miss:   []string{"kubectl get ns", "kubectl delete pod web-0", "kubectl delete -f job.yaml", "kubectl delete ns x --dry-run=client"},
	},
	{
		ID: "exec.remote-delete", Names: "terraform tofu terragrunt pulumi cdk", Match: both(not((*Command).dryRun), anyOf(verb("destroy", "apply-all", "destroy-all", "run-all destroy", "workspace delete", "state rm", "stack rm"), both(verb("apply", "up"), prefix("-destroy", "--destroy")))),
		Reason: "deletes what runs elsewhere",
		Safer:  "print what would be done with plan",
		Hit:    []string{"terraform destroy", "terraform apply -destroy", "terraform -chdir=x destroy"},
		Miss:   []string{"terraform apply -auto-approve", "terraform plan -destroy", "terraform plan", "terraform apply tfplan", "terraform state list", "terraform destroy -help"},
	},
	{
		ID: "exec.remote-delete", Names: "aws", Match: anyOf(both(verb("s3 rm"), flag("--recursive")), verb("s3 rb", "s3api delete-bucket", "ec2 terminate-instances", "rds delete-db-instance", "cloudformation delete-stack", "eks delete-cluster", "dynamodb delete-table"), both(verb("s3 sync"), flag("--delete"), not(flag("--dryrun")))),
		Reason: "deletes what is stored elsewhere, with everything in it",
		Safer:  "print what would be deleted with --dryrun",
		Hit:    []string{"aws s3 rm s3://b --recursive", "aws s3 rb s3://b --force"},
		Miss:   []string{"aws s3 ls s3://b", "aws s3 cp a s3://b/a", "aws s3 rm s3://b/a", "aws s3 sync a s3://b"},
	},
	{
		ID: "exec.remote-delete", Names: "gsutil s3cmd gcloud az rclone mc", Match: anyOf(both(verb("rm", "del"), flag("-r", "-R", "--recursive")), verb("rb", "projects delete", "group delete", "storage rm -r", "purge")),
		Reason: "deletes what is stored elsewhere, with everything in it",
		Hit:    []string{"gsutil -m rm -r gs://b", "s3cmd del --recursive s3://b", "gcloud projects delete x"}, Miss: []string{"gsutil ls", "gsutil cp a gs://b", "az group list"},
	},
	{
		ID: "exec.remote-delete", Names: "gh glab", Match: verb("repo delete", "org delete"),
		Reason: "deletes what is stored elsewhere",
		Hit:    []string{"gh repo delete x --yes"}, Miss: []string{"gh pr create --title x", "gh repo view", "gh release view v1", "gh issue list --search 'repo delete'"},
	},
	{
		ID: "exec.remote-delete", Names: "gh glab", Match: both(verb("api"), anyOf(deletes, mention("mutation{delete", "mutation {delete", "mutation { delete"))),
		Reason: "deletes what is stored elsewhere",
		Hit:    []string{"gh api -X DELETE repos/o/r", "gh api --method=DELETE repos/o/r", "glab api -XDELETE projects/1", "gh api repos/o/r -X delete"},
		Miss:   []string{"gh api repos/o/r", "gh api -X POST repos/o/r/issues -f title=DELETE", "gh api -X GET search/issues -f q=delete"},
	},
	{
		ID: "exec.remote-delete", Names: "curl wget http https xh xhs httpie", Match: both(deletes, func(c *Command) bool { return slices.ContainsFunc(c.Args, keepers.MatchString) }),
		Reason: "deletes what is stored elsewhere",
		Hit:    []string{"curl -X DELETE https://api.github.com/repos/o/r", "curl -sXDELETE https://gitlab.example.com/api/v4/projects/1", "wget --method=DELETE https://api.bitbucket.org/2.0/repositories/o/r", "xh delete https://api.github.com/repos/o/r"},
		Miss:   []string{"curl -X DELETE http://localhost:8080/items/3", "curl https://api.github.com/repos/o/r", "curl -X POST https://api.github.com/repos/o/r/issues -d DELETE", "http DELETE :8000/items/1"},
	},
}

// keepers are addresses by which forges, registries and clouds are told what to do.
var keepers = regexp.MustCompile(`(?i)\b(?:api\.(?:github|gitea|heroku|vercel|netlify|cloudflare|digitalocean|linode|fly|render|supabase)\.\w+|api\.bitbucket\.org|registry\.npmjs\.org|hub\.docker\.com|management\.azure\.com|\w+\.googleapis\.com|(?:gitlab|codeberg|gitea)\.\w+/api)/|/api/v4/(?:projects|groups)/|/api/v[13]/(?:repos|orgs)/`)

// deletes says whether a program that makes requests over HTTP is told the method DELETE.
func deletes(c *Command) bool {
	for i, arg := range c.Args {
		option, method, attached := strings.Cut(arg, "=")
		switch {
		case attached && (option == "--request" || option == "--method"):
		case strings.HasPrefix(arg, "-") && !strings.HasPrefix(arg, "--") && strings.Contains(arg, "X"):
			method = arg[strings.IndexByte(arg, 'X')+1:]
		case i > 0 && (c.Args[i-1] == "--request" || c.Args[i-1] == "--method" || isCluster(c.Args[i-1]) && strings.HasSuffix(c.Args[i-1], "X")):
			method = arg
		case (strings.HasPrefix(c.Name, "http") || strings.HasPrefix(c.Name, "xh")) && !strings.HasPrefix(arg, "-"):
			method = arg
		default:
			continue
		}
		if strings.EqualFold(method, "DELETE") {
			return true
		}
	}
	return false
}

// isCluster says whether an argument is options of one letter each.
func isCluster(arg string) bool {
	return len(arg) > 1 && arg[0] == '-' && arg[1] != '-'
}

// lasting are the kinds of things in a cluster that others are in, or that keep data.
var lasting = []string{"ns", "namespace", "namespaces", "project", "projects", "node", "nodes", "no", "pv", "persistentvolume", "persistentvolumes", "pvc", "persistentvolumeclaim", "persistentvolumeclaims",
	"crd", "crds", "customresourcedefinition", "customresourcedefinitions", "all", "statefulset", "statefulsets", "sts"}

// containerDelete says whether a container tool deletes more than what it is told the names of.
func containerDelete(c *Command) bool {
	words := c.subcommands()
	if c.Name == "docker-compose" || c.Name == "podman-compose" {
		words = append([]string{"compose"}, words...)
	}
	if len(words) == 0 || c.dryRun() {
		return false
	}
	verb := words[0]
	if len(words) > 1 && slices.Contains([]string{"container", "image", "volume", "system", "network", "builder", "compose", "buildx", "pod"}, verb) {
		verb = words[1]
	}
	switch verb {
	case "prune":
		return words[0] == "system" || words[0] == "volume"
	case "reset":
		return words[0] == "system"
	}
	return false
}
