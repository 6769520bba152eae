import { lstatSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { folderWith } from "../../../test/support/temporary-folder.ts";
import { Route } from "../../routing/index.ts";
import { createApplication } from "./create-application.ts";

test.skipIf(process.platform === "win32")(
  "a port that listen() is called with wins over a configured socket, which is used without one",
  async () => {
    const path = join(folderWith({}), "app.sock");
    const application = await createApplication({
      environment: { APP_ENV: "test", PORT: path },
      routes: [Route.get("/", () => "hello")],
    });
    onTestFinished(() => application.shutdown());
    const asked = await application.listen({ port: 0, hostname: "127.0.0.1", handleSignals: false });
    expect([asked.socket, asked.port > 0]).toEqual([null, true]);
    expect(await (await fetch(asked.url)).text()).toBe("hello");
    const configured = await application.listen({ handleSignals: false });
    expect([configured.socket, configured.port]).toEqual([path, 0]);
    expect(lstatSync(path).isSocket()).toBe(true);
  },
);
