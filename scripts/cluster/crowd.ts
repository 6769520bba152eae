import { setTimeout as sleep } from "node:timers/promises";
import type { MailServer } from "../../packages/ashlar/test/support/mail-server.ts";
import type { SocketVisitor } from "../../packages/ashlar/test/support/socket-visitor.ts";
import { audit } from "./audit.ts";
import { type Attempt, attemptsIn, type Ledger, live, order, type Person, visitorAs } from "./people.ts";
import { type Probe, recovery } from "./recovery.ts";
import type { Row } from "./scenario.ts";

/** Simulated users who use the application until they are stopped, and one who places orders continuously. */
export interface Crowd {
  readonly ledger: Ledger;
  /**
   * Causes a fault, lets the users continue for a while, and records how long it took until orders were accepted again.
   */
  fault(what: () => unknown, thenMs: number): Promise<void>;
  /** Stops the users, checks everything that was acknowledged, and returns the figures. */
  finish(): Promise<CrowdResult>;
  /** Stops the users in any case. */
  leave(): Promise<void>;
}

/** A crowd's figures, and the problems that were found. */
export interface CrowdResult {
  readonly row: Row;
  readonly failures: readonly string[];
}

const PAUSE_MS = 100;

/**
 * What one user does continuously. Default: place an order.
 *
 * @returns whether that was acknowledged
 */
export type Probing = (attempt: Attempt, visitor: SocketVisitor, person: Person, number: number) => Promise<boolean>;

const ordering: Probing = (attempt, visitor, person, number) => order(attempt, visitor, person, `probe-${number}`);

/** @param port of the proxy, or of the only instance */
export async function gather(
  mail: MailServer,
  port: number,
  size: number,
  probing: Probing = ordering,
): Promise<Crowd> {
  const ledger: Ledger = { people: [], requests: 0, acknowledged: 0, failed: {} };
  const probes: Probe[] = [];
  const faults: number[] = [];
  let [number, isOver] = [0, false];
  await live(ledger, mail, port, ++number);
  const prober = ledger.people[0];
  if (prober?.token == null) throw new Error(`The first person got ${JSON.stringify(ledger.failed)}.`);
  const visits = Array.from({ length: size }, async () => {
    while (!isOver) {
      await live(ledger, mail, port, ++number);
      await sleep(PAUSE_MS);
    }
  });
  const all = Promise.all([...visits, probe(prober)]);
  all.catch(() => {});

  async function probe(person: Person): Promise<void> {
    const [attempt, visitor] = [attemptsIn(ledger), visitorAs(person, port)];
    while (!isOver) {
      const sentAt = performance.now();
      const isOk = await probing(attempt, visitor, person, probes.length);
      probes.push({ sentAt, endedAt: performance.now(), isOk });
      await sleep(PAUSE_MS);
    }
  }

  /** Waits, for a minute at most, until an order is accepted that was sent after now. */
  async function recovered(): Promise<void> {
    const from = performance.now();
    while (!probes.some(({ isOk, sentAt }) => isOk && sentAt >= from) && performance.now() < from + 60_000) {
      await sleep(PAUSE_MS);
    }
  }

  async function leave(): Promise<void> {
    isOver = true;
    await all;
  }

  return {
    ledger,
    leave,
    async fault(what, thenMs) {
      faults.push(performance.now());
      await what();
      await sleep(thenMs);
    },
    async finish() {
      await recovered();
      await leave();
      const recoveries = faults.map((from, index) =>
        recovery(probes, from, faults[index + 1] ?? Number.POSITIVE_INFINITY),
      );
      const { lost, admitted } = await audit(ledger.people, mail, port);
      const { requests, acknowledged, failed, people } = ledger;
      const failures = [...lost.map((one) => `lost: ${one}`), ...admitted.map((one) => `admitted: ${one}`)];
      if (recoveries.some((one) => !Number.isFinite(one))) failures.push("No order was accepted after a fault.");
      const row = {
        people: people.length,
        requests,
        acknowledged,
        lost: lost.length,
        "wrongly admitted": admitted.length,
        faults: recoveries.length,
        "longest recovery (ms)": Math.round(Math.max(...recoveries)),
        "not acknowledged":
          Object.entries(failed)
            .map(([what, count]) => `${what}: ${count}`)
            .join(", ") || "none",
      };
      return { row, failures };
    },
  };
}

/** The wording that the scenarios' pages use for a crowd. */
export const CROWD: string =
  "Simulated people register, log out, get a token, order something and renew the token; every other one also sets " +
  "a new password with a mailed link. Afterwards, every account, password, token and order that a response " +
  "acknowledged must exist, every promised mail must have arrived, and a replaced password, an ended login or a " +
  "renewed token must no longer work. Requests that aren't acknowledged aren't repeated, and are counted by " +
  "status. Orders are also sent one after the other: the recovery time is from a fault until the first accepted " +
  "order after the last failed one.";
