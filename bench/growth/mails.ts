// The cost of a mail in the outbox: it is written, claimed, delivered to a transport that does nothing, and deleted.
import { setTimeout as sleep } from "node:timers/promises";
import type { Database } from "ashlar/database";
import { cpuTime, load } from "../processes.ts";
import { databaseCpuTime, type Grown } from "./engines.ts";
import { writeRequests } from "./requests.ts";
import type { Cost } from "./users.ts";

const SECONDS = 2;
/** As many as the transport delivers at once, so that mails don't accumulate. */
const CONNECTIONS = 4;

interface MailServer {
  readonly grown: Grown;
  readonly database: Database;
  readonly url: string;
  readonly pid: number;
}

/** Makes a server queue mails, waits until its outbox is empty, and returns the cost of each mail. */
export async function measureMails({ grown, database, url, pid }: MailServer): Promise<Cost> {
  const script = await writeRequests("mails", [{ path: "/mail?to=ada@example.com" }]);
  const [before, inDatabase] = [cpuTime(pid), await databaseCpuTime(grown)];
  const { requests } = await load(url, script, SECONDS, { connections: CONNECTIONS });
  while ((await database.kysely.selectFrom("mail_outbox").select("id").limit(1).execute()).length > 0) await sleep(100);
  return {
    server: (cpuTime(pid) - before) / requests,
    database: ((await databaseCpuTime(grown)) - inDatabase) / requests,
  };
}
