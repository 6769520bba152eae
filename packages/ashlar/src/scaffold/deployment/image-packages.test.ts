import { expect, test } from "vitest";
import { folderWith } from "../../../test/support/temporary-folder.ts";
import { imagePackages, nodeOf } from "./image-packages.ts";

const folder = (files: Readonly<Record<string, string>>, manifest: object = {}): string =>
  folderWith({ "package.json": JSON.stringify(manifest), ...files });

test.each([
  ["package-lock.json", "{}", null, "npm ci --omit=dev"],
  ["pnpm-lock.yaml", "", "npm install --global --allow-scripts=pnpm pnpm", "pnpm install --prod --frozen-lockfile"],
  [
    "yarn.lock",
    "__metadata:\n  version: 8\n",
    "npm install --global --force @yarnpkg/cli-dist",
    "yarn workspaces focus --production",
  ],
  [
    "yarn.lock",
    "# yarn lockfile v1\n",
    "npm install --global --force yarn@1",
    "yarn install --production --frozen-lockfile",
  ],
  ["bun.lock", "", "npm install --global --allow-scripts=bun bun", "bun install --production --frozen-lockfile"],
  ["bun.lockb", "", "npm install --global --allow-scripts=bun bun", "bun install --production --frozen-lockfile"],
])("%s is installed with its package manager", async (file, text, installManager, install) => {
  expect(await imagePackages(folder({ [file]: text }))).toEqual({
    manifests: ["package.json", file],
    installManager,
    install,
    missingLockFile: null,
    hasNpmrc: false,
    workspace: null,
  });
});

test("the version and the package manager come from package.json", async () => {
  const both = { "package-lock.json": "", "pnpm-lock.yaml": "" };
  const manifest = { packageManager: "pnpm@10.4.1+sha512.abc" };
  expect(await imagePackages(folder(both, manifest))).toMatchObject({
    manifests: ["package.json", "pnpm-lock.yaml"],
    installManager: "npm install --global --allow-scripts=pnpm pnpm@10.4.1",
  });
  // It names a different package manager than the only lock file.
  expect(await imagePackages(folder({ "bun.lock": "" }, manifest))).toMatchObject({
    installManager: "npm install --global --allow-scripts=bun bun",
  });
  expect(await imagePackages(folder({ "yarn.lock": "" }, { packageManager: "yarn@4.9.2" }))).toMatchObject({
    installManager: "npm install --global --force @yarnpkg/cli-dist@4.9.2",
  });
});

test("without a lock file, the future one is copied: package.json's, or else the README's", async () => {
  expect(await imagePackages(folder({}, { packageManager: "bun@1.3.0" }))).toMatchObject({
    manifests: ["package.json", "bun.lock"],
    missingLockFile: "bun.lock",
  });
  expect(await imagePackages(folder({ "README.md": "\n    pnpm install\n" }))).toMatchObject({
    missingLockFile: "pnpm-lock.yaml",
  });
  expect(await imagePackages(folder({}))).toMatchObject({ missingLockFile: "package-lock.json" });
});

test("the settings of the package manager are copied as well, and no others', but .npmrc, which may contain a token, is only mounted", async () => {
  const files = { "pnpm-lock.yaml": "", "pnpm-workspace.yaml": "", ".npmrc": "", ".yarnrc.yml": "" };
  expect(await imagePackages(folder(files))).toMatchObject({
    manifests: ["package.json", "pnpm-lock.yaml", "pnpm-workspace.yaml"],
    hasNpmrc: true,
  });
  expect(await imagePackages(folder({}))).toMatchObject({ hasNpmrc: false });
});

test.each([
  ["26\n", "26"],
  ["v24.9.0", "24"],
  ["lts/krypton", null],
])(".nvmrc with %j means Node.js %s", async (text, major) => {
  expect(await nodeOf(folder({ ".nvmrc": text }))).toBe(major);
});

test("without .nvmrc, no version is named", async () => {
  expect(await nodeOf(folder({}))).toBeNull();
});
