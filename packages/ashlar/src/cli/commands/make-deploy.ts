import { Argument, Command, InvalidArgumentError, Option } from "commander";
import {
  DEPLOYMENT_KINDS,
  type DeploymentKind,
  nextSteps,
  planDeployment,
  possibleKinds,
  writeDeployment,
} from "../../scaffold/index.ts";
import { printDiff, printWritten } from "../install/print-changes.ts";
import { emphasis, type Terminal } from "../terminal.ts";
import { deploymentFacts } from "./deployment-facts.ts";

/** HAProxy and nginx support far more, but no process can handle that many at once. */
const MOST_REQUESTS = 9999;

interface Options {
  readonly domain?: string;
  readonly maxRequests?: number | null;
  readonly redis: boolean;
  readonly dryRun?: true;
  readonly force?: true;
}

function parseRequests(text: string): number {
  if (/^[1-9]\d*$/.test(text) && Number(text) <= MOST_REQUESTS) return Number(text);
  throw new InvalidArgumentError(`It must be a whole number from 1 to ${MOST_REQUESTS}.`);
}

function maxRequestsOption(): Option {
  const description = "how many requests nginx and HAProxy send to an instance at once; default: 256 from nginx";
  return new Option("--max-requests <number>", description).argParser(parseRequests);
}

/** `make:deploy`: writes the files for deploying an application, and prints the next steps. */
export function makeDeployCommand(terminal: Terminal): Command {
  return new Command("make:deploy")
    .description(
      "Writes the files for a deployment: an image, services, Kubernetes objects, a unit, and proxy configurations.",
    )
    .addArgument(new Argument("[what...]", "what to write; default: everything").choices(DEPLOYMENT_KINDS))
    .option("--domain <host>", "the host that visitors use, instead of the host in APP_URL")
    .addOption(maxRequestsOption())
    .option("--no-redis", "leave the Redis server out of compose.yaml")
    .option("--dry-run", "print what would change without writing anything")
    .option("--force", "overwrite existing files that differ")
    .action(async (what: DeploymentKind[], { domain, maxRequests = null, redis, dryRun, force }: Options) => {
      const facts = await deploymentFacts(terminal.root, { domain, maxRequests, redis });
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
