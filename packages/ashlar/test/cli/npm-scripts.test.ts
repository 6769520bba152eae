import { expect, test } from "vitest";
import { freePort, generatedApplication } from "../support/generated-application.ts";
import { startProcess } from "../support/long-process.ts";

test.each(["start", "dev"])("S50 SIGTERM to npm alone stops the application served by `npm run %s`", async (script) => {
  const root = await generatedApplication({ pages: false, api: false });
  const npm = startProcess(root, "npm", ["run", script], { PORT: String(await freePort()) });
  const [, url] = await npm.printed(/ is listening on (http:[^\s"]+)/);
  npm.child.kill("SIGTERM");
  // npm's streams are also the server's, so they end when the server does.
  await npm.ended;
  await expect(fetch(url!)).rejects.toThrow();
});
