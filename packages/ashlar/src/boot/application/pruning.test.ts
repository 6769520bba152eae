import { expect, test } from "vitest";
import { createApplication } from "./create-application.ts";
import { Provider, type ProviderClass } from "./provider.ts";

/** A provider that deletes this many rows, or fails. */
function pruning(outcome: Readonly<Record<string, number>> | Error): ProviderClass {
  return class extends Provider {
    override prune(): Promise<Readonly<Record<string, number>>> {
      return outcome instanceof Error ? Promise.reject(outcome) : Promise.resolve(outcome);
    }
  };
}

const [first, second] = [new Error("The table is locked."), new Error("The disk is full.")];

test.each([
  ["one fails", [first], first],
  ["several fail", [first, second], expect.objectContaining({ errors: [first, second] })],
])("every provider prunes, even if %s, and the failure is thrown at the end", async (_, errors, thrown) => {
  const done: string[] = [];
  class Last extends Provider {
    override async prune(): Promise<Readonly<Record<string, number>>> {
      done.push("last");
      return { logins: 3 };
    }
  }
  const application = await createApplication({ providers: [...errors.map(pruning), Last] });
  expect(await application.prune().catch((error: unknown) => error)).toEqual(thrown);
  expect(done).toEqual(["last"]);
  await application.shutdown();
});

test("no other provider prunes once the signal is aborted", async () => {
  const stop = new AbortController();
  class Stopping extends Provider {
    override async prune(): Promise<Readonly<Record<string, number>>> {
      stop.abort();
      return { logins: 3 };
    }
  }
  const application = await createApplication({ providers: [Stopping, pruning({ links: 2 })] });
  expect(await application.prune(stop.signal)).toEqual({ logins: 3 });
  await application.shutdown();
});

test("the result contains the numbers of deleted rows of all providers", async () => {
  const providers = [pruning({ logins: 3 }), pruning({ "counts of limits": 2 })];
  const application = await createApplication({ providers });
  expect(await application.prune()).toEqual({ logins: 3, "counts of limits": 2 });
  await application.shutdown();
});
