import { expect, test } from "vitest";
import { freePort, generatedApplication } from "../support/generated-application.ts";
import { startProcess } from "../support/long-process.ts";

test.each(["start", "dev"])("S50 SIGTERM only to npm ends what `npm run %s` serves", async (script) => {
  const root = await generatedApplication({ pages: false, api: false });
  const npm = startProcess(root, "npm", ["run", script], { PORT: String(await freePort()) });
  const [, url] = await npm.printed(/ is listening on (http:[^\s"]+)/);
  npm.child.kill("SIGTERM");
  // npm's streams are also the server's, so that they end with the server.
  await npm.ended;
  await expect(fetch(url!)).rejects.toThrow();
});
