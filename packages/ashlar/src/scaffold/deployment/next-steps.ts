import { readIfThere } from "../files/existing-files.ts";
import type { DeploymentFacts } from "./deployment-facts.ts";
import { type DeploymentKind, deployedName } from "./deployment-files.ts";
import { imagePackages } from "./image-packages.ts";

/** The packages needed for database connections. */
const DRIVERS: Readonly<Record<string, string>> = { postgres: "pg", mariadb: "mysql2" };

/**
 * The steps that lead from the deployment files to a running application, one line each.
 *
 * @param root the application's folder
 * @param kinds the files that were written
 */
export async function nextSteps(
  root: string,
  kinds: readonly DeploymentKind[],
  facts: DeploymentFacts,
): Promise<string[]> {
  const name = await deployedName(root);
  const { port, domain } = facts;
  const has = (kind: DeploymentKind): boolean => kinds.includes(kind);
  const steps: string[] = [];
  if (has("docker") || has("compose")) steps.push(...(await imageSteps(root)));
  if (has("compose")) {
    steps.push(...(await packageSteps(root, facts)));
    const own = [...(DRIVERS[facts.dialect ?? ""] === undefined ? [] : ["DATABASE_PASSWORD"])];
    if (facts.redis) own.push("REDIS_PASSWORD");
    steps.push(
      `compose.yaml: write /etc/${name}.env, readable by root only, with APP_URL=https://${domain}, APP_KEY and the other ` +
        `variables of .env.example${own.length === 0 ? "" : `, and with ${own.join(" and ")} (openssl rand -hex 32)`}. Then: ` +
        `docker compose --env-file /etc/${name}.env up --detach --build`,
    );
  }
  if (has("kubernetes")) {
    const secret = `kubectl create secret generic ${name} --from-env-file=/etc/${name}.env`;
    const migration =
      facts.dialect === null ? "" : "kubectl apply --filename deploy/kubernetes.migrate.yaml, and when that is done: ";
    steps.push(
      `deploy/kubernetes.yaml: replace registry.example/${name}:1.0.0 by your image, and the addresses in TRUSTED_PROXIES by ` +
        `those of the cluster's pods. Write /etc/${name}.env with APP_URL=https://${domain}, APP_KEY and the other variables ` +
        `of .env.example. Then: ${secret}; ${migration}kubectl apply --filename deploy/kubernetes.yaml`,
    );
  }
  if (has("systemd")) {
    steps.push(
      `deploy/${name}@.service: copy it to /etc/systemd/system, put the application into /srv/${name}/releases/1, its ` +
        `variables into /srv/${name}/.env, and make two links: ln -s ../../.env /srv/${name}/releases/1/.env; ` +
        `ln -s releases/1 /srv/${name}/current. Then: systemctl enable --now ${name}@${port} ${name}@${port + 1}. To ` +
        `update: install into another folder, switch current to it, and systemctl reload ${name}@${port} ${name}@${port + 1}`,
    );
  }
  const trust = "and set TRUSTED_PROXIES=loopback";
  if (has("nginx"))
    steps.push(`deploy/nginx.conf: copy it to /etc/nginx/conf.d/${name}.conf, ${trust}. Then: nginx -t`);
  if (has("caddy")) {
    steps.push(
      `deploy/Caddyfile: copy it to /etc/caddy/Caddyfile, ${trust}. Then: caddy validate --config /etc/caddy/Caddyfile`,
    );
  }
  if (has("haproxy")) {
    steps.push(
      `deploy/haproxy.cfg: copy it to /etc/haproxy/haproxy.cfg, ${trust}. It needs the chain and the key of ${domain} in one ` +
        `file: /etc/haproxy/certificates/${domain}.pem. Then: haproxy -c -f /etc/haproxy/haproxy.cfg`,
    );
  }
  return steps;
}

async function imageSteps(root: string): Promise<string[]> {
  const { missingLockFile, workspace } = await imagePackages(root);
  const steps: string[] = [];
  if (missingLockFile !== null) {
    steps.push(
      `Dockerfile: it copies ${missingLockFile}, which doesn't exist yet. Install the packages, and commit it.`,
    );
  }
  if (workspace !== null) {
    const { root: context, folder } = workspace;
    steps.push(`Dockerfile: build it in ${context}, the workspace's root: docker build --file ${folder}/Dockerfile .`);
  }
  return steps;
}

/** The settings that the application lacks for its services. */
async function packageSteps(root: string, { dialect, redis }: DeploymentFacts): Promise<string[]> {
  const { dependencies = {} } = JSON.parse((await readIfThere(root, "package.json")) ?? "{}") as {
    readonly dependencies?: Readonly<Record<string, string>>;
  };
  const driver = DRIVERS[dialect ?? ""];
  const steps: string[] = [];
  if (driver !== undefined && !Object.hasOwn(dependencies, driver)) {
    steps.push(`package.json: the database needs its driver. Install ${driver}.`);
  }
  if (redis && !Object.hasOwn(dependencies, "ioredis")) {
    steps.push(
      "compose.yaml has a Redis server, which the application doesn't use yet. Install ioredis, and name the store in " +
        "config/throttle.ts or config/session.ts. Or leave the server out: --no-redis",
    );
  }
  return steps;
}
