import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { folderWith } from "../../../test/support/temporary-folder.ts";
import { STUBS } from "../stub.ts";
import type { DeploymentFacts } from "./deployment-facts.ts";
import { DEPLOYMENT_KINDS, deployedName, deploymentFiles } from "./deployment-files.ts";

const FACTS: DeploymentFacts = {
  title: "Shop",
  domain: "shop.example",
  port: 3000,
  up: "/up",
  ready: "/ready",
  drainSeconds: 5,
  shutdownSeconds: 10,
  maxBodyBytes: 1024 ** 2,
  connection: "main",
  dialect: "postgres",
  redis: true,
};

async function filesFor(facts: Partial<DeploymentFacts>): Promise<ReadonlyMap<string, string>> {
  const root = folderWith({ "package.json": '{ "name": "shop" }' });
  const files = await deploymentFiles(root, DEPLOYMENT_KINDS, { ...FACTS, ...facts });
  return new Map(files.map(({ path, text }) => [path, text]));
}

describe.each(["sqlite", "postgres", "mariadb", "of-my-own", null])("on %s", (dialect) => {
  test.each([true, false])("every stub renders without leftover directives, with everything else %s", async (on) => {
    const files = await filesFor({ dialect, redis: on, up: on ? "/up" : null, ready: on ? "/ready" : null });
    // nginx has one for both places.
    expect(files.size).toBe((await readdir(join(STUBS, "deploy"))).length + 1);
    for (const [path, text] of files) expect([path, text]).toEqual([path, expect.not.stringMatching(/\/\/#|%\{/)]);
  });
});

test.each([
  [5, "4s", "2s", "1s"],
  [30, "24s", "12s", "2s"],
  [2, "1600ms", "1s", "400ms"],
  [0, "100ms", "1s", "100ms"],
])("with a drain of %i seconds, proxies notice it in time", async (drainSeconds, kept, leftOut, checked) => {
  const files = await filesFor({ drainSeconds });
  expect(files.get("deploy/nginx.conf")).toContain(`keepalive_timeout ${kept};`);
  expect(files.get("deploy/nginx.conf")).toContain(`fail_timeout=${leftOut};`);
  expect(files.get("deploy/Caddyfile")).toContain(`keepalive ${kept}\n`);
  expect(files.get("deploy/Caddyfile")).toContain(`health_interval ${checked}\n`);
  expect(files.get("deploy/haproxy.cfg")).toContain(`inter ${checked} fall 2`);
});

test("a percent sign in the application's name is not a specifier of systemd", async () => {
  const files = await filesFor({ title: "100 % Shop" });
  expect(files.get("deploy/shop@.service")).toContain("Description=100 %% Shop on port %i\n");
});

test.each([
  ["@acme/Corner_Shop", "corner-shop"],
  ["shop", "shop"],
])("the package %s is deployed as %s", async (name, deployed) => {
  expect(await deployedName(folderWith({ "package.json": JSON.stringify({ name }) }))).toBe(deployed);
});

test("what isn't committed isn't in an image either, in whichever folder it is", async () => {
  const ignored = await readFile(join(STUBS, "application/gitignore.stub"), "utf8");
  const left = (await filesFor({})).get(".dockerignore")!.split("\n");
  for (const pattern of ignored.trim().split("\n")) {
    if (pattern.startsWith("!")) continue;
    // Docker looks for a pattern at the top only, unless it says otherwise.
    const name = pattern
      .replace(/^database\//, "")
      .replace(/\/$/, "")
      .replace(/^\.env(?:\.\*)?$/, ".env*");
    expect(left).toContain(`**/${name}`);
  }
});
