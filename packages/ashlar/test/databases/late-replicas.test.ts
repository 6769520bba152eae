import { expect, onTestFinished, test } from "vitest";
import { createApplication, createLogger } from "../../src/boot/index.ts";
import { DatabaseProvider, ReadReplicas, sql } from "../../src/database/index.ts";
import { familiesOf } from "../../src/metrics/families.ts";
import { Route } from "../../src/routing/index.ts";
import { generateSecret } from "../../src/security/index.ts";
import { kernelWith } from "../support/application-parts.ts";
import { freePort } from "../support/free-port.ts";
import { type OwnPostgres, startPostgres, startStandby, withOwnPostgres } from "../support/own-postgres.ts";

/** An application with a replica, and the log's lines about it. */
async function shopOn(primary: OwnPostgres, standby: OwnPostgres) {
  const said: string[] = [];
  const settings = { name: "test", environment: "test", log: { level: "warn", requests: false } } as const;
  const main = { driver: "postgres", url: primary.url, read: [standby.url], ownWritesSeconds: 1 };
  const application = await createApplication({
    kernel: kernelWith({ web: [] }, [ReadReplicas]),
    providers: [DatabaseProvider],
    config: { database: { DATABASES: { default: "main", main } } },
    routes: [
      Route.get("/", async () => {
        const notes = await sql<{ text: string; late: boolean }>`select text, pg_is_in_recovery() as late from notes`;
        const [note] = (await notes.execute(application.container.make("database").kysely)).rows;
        return `${note!.text} from the ${note!.late ? "standby" : "primary"}`;
      }),
    ],
    environment: { APP_ENV: "test", APP_KEY: generateSecret() },
    logger: createLogger(settings, { write: (line) => void said.push(String(JSON.parse(line).msg)) }),
  });
  onTestFinished(() => application.shutdown());
  const read = async () => (await application.fetch(new Request("http://shop.test/"))).text();
  /** The metric, by its labels. */
  const shown = () => {
    const found = familiesOf(application.stats()).find(({ name }) => name === "ashlar_database_replicas");
    return found!.values.map(({ labels, value }) => `${labels.connection} ${labels.state} ${value}`);
  };
  return { said, read, shown };
}

const delayOf = async (standby: OwnPostgres) =>
  (await standby.run("show recovery_min_apply_delay")).rows[0].recovery_min_apply_delay;

withOwnPostgres("a read replica", () => {
  test("that is too far behind is left out until it has caught up", async () => {
    const primary = await startPostgres(await freePort());
    onTestFinished(() => primary.remove());
    await primary.run("create table notes (text text)");
    await primary.run("insert into notes values ('old')");
    await primary.run("checkpoint");
    const standby = await startStandby(primary, await freePort());
    onTestFinished(() => standby.remove());
    await standby.run("alter system set recovery_min_apply_delay = '1h'");
    await standby.run("select pg_reload_conf()");
    await expect.poll(() => delayOf(standby)).toBe("1h");
    const { said, read, shown } = await shopOn(primary, standby);
    expect(await read()).toBe("old from the standby");
    await primary.run("update notes set text = 'new'");
    expect(shown()).toEqual(["main used 1", "main away 0", "main behind 0"]);
    await expect.poll(read).toBe("new from the primary");
    expect(shown()).toEqual(["main used 0", "main away 0", "main behind 1"]);
    await standby.run("alter system set recovery_min_apply_delay = 0");
    await standby.run("select pg_reload_conf()");
    await expect.poll(read).toBe("new from the standby");
    expect(shown()).toEqual(["main used 1", "main away 0", "main behind 0"]);
    expect(said).toEqual([
      "The read replica 0 is more than 1 second behind. Its reads go elsewhere until it has caught up.",
      "The read replica 0 has caught up.",
    ]);
  });
});
