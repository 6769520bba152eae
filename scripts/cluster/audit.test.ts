import { once } from "node:events";
import { createServer, request } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, test } from "vitest";
import { freePort } from "../../packages/ashlar/test/support/free-port.ts";
import { startPostgres, withOwnPostgres } from "../../packages/ashlar/test/support/own-postgres.ts";
import { audit } from "./audit.ts";
import { type Ledger, live, RESET, VERIFY } from "./people.ts";
import { openShop } from "./shop.ts";
import { type Undo, undoing } from "./undoing.ts";

/** Passes requests on to an instance. Of those that set a password, the request or its response is lost. @returns its port */
async function losing(undo: Undo, what: "request" | "response", port: number): Promise<number> {
  const server = createServer((message, response) => {
    const { method, url, headers } = message;
    const isLost = method === "POST" && url === RESET;
    if (isLost && what === "request") return void message.socket.destroy();
    const passed = request({ host: "127.0.0.1", port, method, path: url!, headers }, (answer) => {
      if (isLost) return void answer.resume().once("end", () => message.socket.destroy());
      response.writeHead(answer.statusCode!, answer.headers);
      answer.pipe(response);
    });
    message.pipe(passed);
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  undo(() => server.close());
  return (server.address() as AddressInfo).port;
}

withOwnPostgres("what people were promised has happened", () => {
  test("is found, and events that didn't happen are named", () =>
    undoing(async (undo) => {
      const postgres = await startPostgres(await freePort());
      undo(() => postgres.remove());
      const shop = await openShop("postgres", postgres.url);
      undo(() => shop.remove());
      const instance = await shop.instance();
      undo(() => instance.stop());
      await instance.start();
      const ledger: Ledger = { people: [], requests: 0, acknowledged: 0, failed: {} };
      for (const number of [1, 2]) await live(ledger, shop.mail, instance.port, number);
      expect([ledger.failed, ledger.people.length]).toEqual([{}, 2]);
      const [one, two] = ledger.people as [(typeof ledger.people)[0], (typeof ledger.people)[0]];
      expect([one.orders.length, one.formerTokens.length, one.endedLogins.length]).toEqual([2, 1, 1]);
      expect(two.formerPasswords).toHaveLength(1);
      expect(await audit([one, two], shop.mail, instance.port)).toEqual({ lost: [], admitted: [] });
      await postgres.run("delete from orders where reference = '1-1'");
      shop.mail.mails.splice(
        shop.mail.mails.findIndex(({ to }) => to === one.email),
        1,
      );
      // The check above has replaced the token.
      expect(await audit([{ ...one, formerPasswords: [...one.passwords] }], shop.mail, instance.port, 0)).toEqual({
        lost: [`${one.email}: the token`, "order 1-1", `mail to ${one.email}: ${VERIFY}`],
        admitted: [`${one.email}: a former password`],
      });
      // The new password of the one is set, and that of the other isn't: they weren't told either way.
      for (const [number, what] of [
        [4, "response"],
        [6, "request"],
      ] as const)
        await live(ledger, shop.mail, await losing(undo, what, instance.port), number);
      expect([ledger.failed, ledger.people.length]).toEqual([{ ECONNRESET: 2 }, 4]);
      const unsure = ledger.people.slice(2);
      expect(unsure.map(({ passwords, orders }) => [passwords.length, orders.length])).toEqual([
        [2, 2],
        [2, 2],
      ]);
      expect(await audit(unsure, shop.mail, instance.port)).toEqual({ lost: [], admitted: [] });
      await postgres.run("delete from orders where reference in ('4-1', '6-2')");
      expect((await audit(unsure, shop.mail, instance.port)).lost.toSorted()).toEqual(["order 4-1", "order 6-2"]);
      await postgres.run("delete from users");
      const { lost } = await audit([two, unsure[0]!], shop.mail, instance.port);
      expect(lost.toSorted()).toEqual([
        `${two.email}: the account or its password (401)`,
        `${unsure[0]!.email}: the account or its password (401, 401)`,
      ]);
    }));
});
