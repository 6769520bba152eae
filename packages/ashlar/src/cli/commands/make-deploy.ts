import { Argument, Command } from "commander";
import {
  DEPLOYMENT_KINDS,
  type DeploymentKind,
  nextSteps,
  planDeployment,
  possibleKinds,
  writeDeployment,
} from "../../scaffold/index.ts";
import { deploymentFacts } from "../deployment-facts.ts";
import { printDiff, printWritten } from "../install-command.ts";
import { emphasis, type Terminal } from "../terminal.ts";

interface Options {
  readonly domain?: string;
  readonly redis: boolean;
  readonly dryRun?: true;
  readonly force?: true;
}

/** `make:deploy`: writes the files that an application is deployed with, and prints what to do with them. */
export function makeDeployCommand(terminal: Terminal): Command {
  return new Command("make:deploy")
    .description(
      "Writes what a deployment needs: an image, services, objects of Kubernetes, a unit, and configurations of proxies.",
    )
    .addArgument(new Argument("[what...]", "what to write; default: everything").choices(DEPLOYMENT_KINDS))
    .option("--domain <host>", "the host that visitors use, instead of that of APP_URL")
    .option("--no-redis", "leave the Redis server out of compose.yaml")
    .option("--dry-run", "print what would change without writing anything")
    .option("--force", "overwrite existing files that differ")
    .action(async (what: DeploymentKind[], { domain, redis, dryRun, force }: Options) => {
      const facts = await deploymentFacts(terminal.root, { domain, redis });
      const kinds = what.length === 0 ? possibleKinds(facts) : what;
      const plan = await planDeployment(terminal.root, kinds, facts);
      if (dryRun) return await printDiff(terminal, plan);
      await writeDeployment(terminal.root, plan, force ?? false);
      printWritten(terminal, plan);
      terminal.print();
      terminal.print(emphasis("Next steps:", "bold"));
      for (const step of await nextSteps(terminal.root, kinds, facts)) terminal.print(`- ${step}`);
    });
}
