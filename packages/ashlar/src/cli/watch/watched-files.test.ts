import { join } from "node:path";
import { expect, test } from "vitest";
import { isWatchedFile, isWatchedFolder } from "./watched-files.ts";

const isWatched = (path: string): boolean => {
  const parts = path.split("/");
  const folder = join(...parts.slice(0, -1), "");
  return (parts.length === 1 || isWatchedFolder(folder)) && isWatchedFile(join(...parts));
};

test.each([
  "app.ts",
  "package.json",
  ".env",
  ".env.local",
  "app/controllers/auth/login-controller.ts",
  "config/app.js",
  "lang/de.json",
  "views/mails/reset.html.edge",
  "app/public/index.ts",
  "app/tests/kit.mts",
])("%s is watched", (path) => expect(isWatched(path)).toBe(true));

test.each([
  "database/app.sqlite",
  "database/app.sqlite-wal",
  "server.log",
  "public/style.css",
  "public/app.js",
  "tests/auth.test.ts",
  "storage/settings.json",
  "node_modules/ashlar/package.json",
  "app/node_modules/x/index.js",
  ".git/HEAD",
  ".git/hooks/x.js",
  ".env.example",
  ".env.1f2e3d.tmp",
  ".env.lock",
  ".env.swp",
  ".env~",
  "app/.env",
  "app/.kernel.ts.swp",
  "app/.#kernel.ts",
  "app/kernel.ts~",
  "app/4913",
  "app/sedx3Fq1",
])("%s is not watched", (path) => expect(isWatched(path)).toBe(false));
