import { existsSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { createApplication } from "../../src/boot/index.ts";
import { DatabaseProvider } from "../../src/database/index.ts";
import { folderWith } from "../support/temporary-folder.ts";

const KEY = "q3Zr8pYt5Wn1Lx7Vc0Bm4Kj6Hg2Fd9Sa-_QwErTyUiO";

/** Boots an application with its database at this path, and a stylesheet to serve. */
async function boot(root: string, path: string, environment = "production") {
  const application = await createApplication({
    root,
    providers: [DatabaseProvider],
    environment: { APP_ENV: environment, APP_URL: "https://shop.example", APP_KEY: KEY },
    config: {
      app: { APP: { log: { level: "silent" } } },
      database: {
        DATABASES: {
          default: "main",
          main: { driver: "sqlite", path: ":memory:" },
          archive: { driver: "sqlite", path },
        },
      },
    },
  });
  onTestFinished(() => application.shutdown());
  return application;
}

const refusal = (path: string) => ({
  code: "E_INVALID_CONFIGURATION",
  message:
    `config/database.ts: DATABASES.archive.path: is ${JSON.stringify(path)}, which is in public/: anyone could download ` +
    'the database. Move the file, with its -wal and its -shm, to another folder, as in "database/app.sqlite".',
});

test.each([
  "public/shop.sqlite",
  "./public/data/shop.sqlite",
  "database/../public/shop.sqlite",
  "public/..shop.sqlite",
])(
  "S63 a SQLite file among the public files fails startup, on any connection, before it is created: %s",
  async (path) => {
    const root = folderWith({ "public/app.css": "body{}" });
    for (const environment of ["production", "development"]) {
      await expect(boot(root, path, environment)).rejects.toMatchObject(refusal(path));
    }
    await expect(boot(root, join(root, path))).rejects.toMatchObject(refusal(join(root, path)));
    expect([existsSync(join(root, path)), existsSync(join(root, "public/data"))]).toEqual([false, false]);
  },
);

test("S63 it fails startup even if there is no public folder yet", async () => {
  await expect(boot(folderWith({}), "public/shop.sqlite")).rejects.toMatchObject(refusal("public/shop.sqlite"));
});

test.skipIf(process.platform === "win32")(
  "S63 a SQLite file linked into the public files fails startup too",
  async () => {
    const root = folderWith({ "public/data/app.css": "body{}" });
    symlinkSync(join(root, "public/data"), join(root, "database"));
    await expect(boot(root, "database/shop.sqlite")).rejects.toMatchObject(refusal("database/shop.sqlite"));
    await expect(boot(root, "database/new/shop.sqlite")).rejects.toMatchObject(refusal("database/new/shop.sqlite"));
  },
);

test.each(["database/shop.sqlite", "public.sqlite", "publications/shop.sqlite", "database/public/shop.sqlite"])(
  "a SQLite file anywhere else is used, and not served: %s",
  async (path) => {
    const application = await boot(folderWith({ "public/app.css": "body{}" }), path);
    await application.container.make("database").connection("archive").connect();
    const { status } = await application.fetch(new Request(`https://shop.example/${path}`));
    expect([status, existsSync(join(application.root, path))]).toEqual([404, true]);
  },
);
