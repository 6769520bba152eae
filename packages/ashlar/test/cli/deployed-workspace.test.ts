// The image of an application that is a package in a workspace.
import { existsSync } from "node:fs";
import { chmod, cp, mkdir, readdir, readFile, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { validate } from "dockerfile-utils";
import { expect, test } from "vitest";
import { parse } from "yaml";
import { generateSecret } from "../../src/security/index.ts";
import { ashlar } from "../support/command-line.ts";
import { edit, execute, generatedApplication } from "../support/generated-application.ts";
import { buildImage } from "../support/image-folder.ts";
import { canInstall, packageRegistry } from "../support/package-registry.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const MONEY = { name: "@acme/money", version: "1.0.0", type: "module", exports: "./index.js" };

/** A workspace with an application in `apps/shop`, a package that it depends on, and another application. */
async function workspace(files: Readonly<Record<string, string>>): Promise<{ root: string; shop: string }> {
  const generated = await generatedApplication({ pages: false, api: false });
  const root = join(generated, "../workspace");
  const shop = join(root, "apps/shop");
  await mkdir(join(root, "apps"), { recursive: true });
  await rename(generated, shop);
  await edit(shop, "package.json", ['"dependencies": {', '"dependencies": {\n    "@acme/money": "1.0.0",']);
  const all: Readonly<Record<string, string>> = {
    "package.json": JSON.stringify({ name: "acme", private: true, workspaces: ["apps/*", "packages/*"] }),
    "packages/money/package.json": JSON.stringify(MONEY),
    "packages/money/index.js": "export const cents = 100;\n",
    "apps/other/package.json": JSON.stringify({ name: "other", private: true }),
    "apps/other/secret.js": "",
    ...files,
  };
  for (const [path, text] of Object.entries(all)) {
    await mkdir(join(root, path, ".."), { recursive: true });
    await writeFile(join(root, path), text);
  }
  return { root, shop };
}

const WITHOUT_WORKSPACES = JSON.stringify({ name: "acme", private: true });

test.for([
  {
    manager: "npm",
    files: { "package-lock.json": "{}" },
    lines: ["COPY package.json package-lock.json ./", "RUN npm ci --omit=dev --workspace=apps/shop"],
  },
  {
    manager: "pnpm",
    files: {
      "package.json": JSON.stringify({ name: "acme", packageManager: "pnpm@10.4.1" }),
      "pnpm-lock.yaml": "",
      "pnpm-workspace.yaml": "# all\npackages:\n  - 'apps/*' # these\n  - \"packages/**\"\n\ncatalog:\n  - no\n",
    },
    lines: [
      "RUN npm install --global --allow-scripts=pnpm pnpm@10.4.1",
      "COPY package.json pnpm-lock.yaml pnpm-workspace.yaml ./",
      "RUN pnpm install --prod --frozen-lockfile --filter '{apps/shop}...'",
    ],
  },
  {
    manager: "pnpm with a list in one line",
    files: {
      "package.json": WITHOUT_WORKSPACES,
      "pnpm-lock.yaml": "",
      "pnpm-workspace.yaml": 'packages: ["./apps/*/", packages/*, "!apps/old"]\n',
    },
    lines: ["RUN pnpm install --prod --frozen-lockfile --filter '{apps/shop}...'"],
  },
  {
    manager: "Yarn",
    files: { "yarn.lock": "__metadata:\n  version: 8\n", ".yarnrc.yml": "" },
    lines: ["COPY package.json yarn.lock .yarnrc.yml ./", "RUN yarn workspaces focus --production shop"],
  },
  {
    manager: "Bun",
    files: { "bun.lock": "" },
    lines: ["COPY package.json bun.lock ./", "RUN bun install --production --frozen-lockfile --filter ./apps/shop"],
  },
])("an image is built with the root's lock file and package manager: $manager", async ({ files, lines }) => {
  const { shop } = await workspace(files as unknown as Readonly<Record<string, string>>);
  const { code, output } = await ashlar(shop, "make:deploy", "compose");
  expect([code, output]).toEqual([0, expect.not.stringContaining("doesn't exist yet")]);
  expect(output).toContain("the workspace's root: docker build --file apps/shop/Dockerfile .");
  const text = await readFile(join(shop, "Dockerfile"), "utf8");
  expect(validate(text)).toEqual([]);
  expect(text.split("\n")).toEqual(
    expect.arrayContaining([
      ...lines,
      ...["apps/other", "apps/shop", "packages/money"].map((one) => `COPY ${one}/package.json ./${one}/`),
      ...["apps/shop", "packages/money"].map((one) => `COPY ${one} ./${one}/`),
      "WORKDIR /app/apps/shop",
    ]),
  );
  expect(text).not.toContain("COPY . .");
  expect(text).not.toContain("COPY apps/other .");
  const compose = parse(await readFile(join(shop, "compose.yaml"), "utf8"), { merge: true }) as {
    readonly services: Readonly<Record<string, { readonly build: unknown }>>;
  };
  expect(compose.services.one!.build).toEqual({ context: "../..", dockerfile: "apps/shop/Dockerfile" });
  expect(await readdir(shop)).toEqual(expect.arrayContaining(["Dockerfile.dockerignore"]));
  expect(existsSync(join(shop, ".dockerignore"))).toBe(false);
});

test("a folder that the workspace doesn't list, and one with the only lock file, is an application by itself", async () => {
  const unlisted = JSON.stringify({ workspaces: ["apps/*", "!apps/shop"] });
  for (const files of [
    { "package.json": unlisted, "package-lock.json": "{}" },
    { "apps/shop/package-lock.json": "{}" },
  ]) {
    const { shop } = await workspace(files as unknown as Readonly<Record<string, string>>);
    await ashlar(shop, "make:deploy", "docker");
    expect(await readFile(join(shop, "Dockerfile"), "utf8")).toContain(
      "COPY package.json package-lock.json ./\nRUN npm ci",
    );
    expect(existsSync(join(shop, ".dockerignore"))).toBe(true);
  }
});

test("the installation can read the root's .npmrc", async () => {
  const { shop } = await workspace({ "package-lock.json": "{}", ".npmrc": "fund=false\n" });
  await ashlar(shop, "make:deploy", "compose");
  expect(await readFile(join(shop, "Dockerfile"), "utf8")).toContain("target=/app/.npmrc,required npm ci --omit=dev");
  const text = await readFile(join(shop, "compose.yaml"), "utf8");
  expect(parse(text)).toMatchObject({ secrets: { npmrc: { file: "../../.npmrc" } } });
});

test.skipIf(!canInstall && !process.env.CI)(
  "a workspace's Dockerfile makes an image that runs the application's commands, without other applications' files",
  { timeout: 180_000 },
  async () => {
    const registry = await packageRegistry();
    const folder = await temporaryFolder();
    const { root: generated } = await workspace({ ".npmrc": "fund=false\n" });
    // Outside of this repository, which is a workspace as well.
    const root = join(await temporaryFolder(), "acme");
    await cp(generated, root, { recursive: true });
    const shop = join(root, "apps/shop");
    const locked = await execute(root, "npm", ["install", "--package-lock-only", "--silent"], registry);
    expect(locked.code, locked.output).toBe(0);
    for (const file of ["packages/money/server.pem", "apps/shop/old.db", "apps/shop/.env.local"]) {
      await writeFile(join(root, file), "secret");
    }
    await ashlar(shop, "make:deploy", "docker");
    await chmod(folder, 0o755);

    const image = await buildImage(root, folder, registry, "apps/shop/Dockerfile");
    expect(image.workFolder).toBe(join(image.folder, "app/apps/shop"));
    const files = await readdir(join(image.folder, "app"), { recursive: true });
    const own = files.filter((file) => !file.includes("node_modules"));
    expect(own).toEqual(expect.arrayContaining(["apps/shop/app.ts", "packages/money/index.js"]));
    expect(own.filter((file) => /secret|\.pem$|\.db$|\.env|npmrc|Dockerfile/.test(file))).toEqual([]);
    expect(files.filter((file) => /node_modules\/(?:typescript|youch)$/.test(file))).toEqual([]);
    const [, ...command] = image.command;
    const run = await execute(image.workFolder, process.execPath, [...command.slice(0, -1), "routes"], {
      ...{ APP_KEY: generateSecret(), APP_URL: "https://shop.example", APP_ENV: "production" },
    });
    expect(run.output).toMatch(/GET\s+\//);
    const imported = await execute(image.workFolder, process.execPath, [
      "--input-type=module",
      ...["--eval", 'import { cents } from "@acme/money"; console.log(cents);'],
    ]);
    expect(imported).toEqual({ code: 0, output: "100\n" });
  },
);
