// An application whose configuration is the page's: a file of an authority that is missing is an error with its place.

import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { Database } from "../../../src/database/index.ts";
import { bootApplication } from "../../support/booted-application.ts";
import { makeCertificate } from "../../support/certificate.ts";
import { generatedApplication } from "../../support/generated-application.ts";
import { followPage } from "../../support/page-files.ts";

test("the page's settings work once the authority's file is where they say", async () => {
  const root = await generatedApplication();
  await followPage(root, "docs/guides/own-authority.md");
  const { DATABASES } = (await import(join(root, "config/database.ts"))) as { DATABASES: object };
  expect(() => new Database(DATABASES, root)).toThrow(
    "config/database.ts: DATABASES.postgres.ca: is a file that can't be read (ENOENT). Correct its path: " +
      join(root, "certificates/database.pem"),
  );
  await mkdir(join(root, "certificates"));
  const { chain } = makeCertificate(join(root, "certificates"), "db.internal");
  const one = Object.assign({}, DATABASES, { postgres: { driver: "postgres", ca: chain } });
  await new Database(one, root).close();
  const { end } = await bootApplication(root);
  await end();
});
