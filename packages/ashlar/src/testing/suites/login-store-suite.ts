import type { MaybePromise } from "../../support/index.ts";
import { ENDING } from "./login-store/ending.ts";
import { LISTING } from "./login-store/listing.ts";
import { LoginBench, type LoginStoreTest, type LoginStoreUnderTest } from "./login-store/login-store-test.ts";
import { PRUNING } from "./login-store/pruning.ts";
import { STARTING } from "./login-store/starting.ts";
import { USING } from "./login-store/using.ts";
import { assertEachFails, FAILURES_THROW, type SuiteTest } from "./suite-test.ts";

/** Options of {@link loginStoreSuite}. */
export interface LoginStoreSuiteOptions {
  /** Creates a store whose server cannot be reached; default: the test that needs one is skipped. */
  readonly unreachable?: () => MaybePromise<LoginStoreUnderTest>;
}

/**
 * Tests the contract of `LoginStore`.
 *
 * @param make creates an empty store; called once for each test, which closes it
 */
export function loginStoreSuite(
  make: () => MaybePromise<LoginStoreUnderTest>,
  { unreachable }: LoginStoreSuiteOptions = {},
): readonly SuiteTest[] {
  const entry = ([title, run]: LoginStoreTest, create = make): SuiteTest => ({
    title,
    async run() {
      const made = await create();
      try {
        await run(new LoginBench(made));
      } finally {
        await made.store.close?.();
        await made.end?.();
      }
    },
  });
  const always = [...STARTING, ...USING, ...LISTING, ...ENDING, ...PRUNING].map((one) => entry(one));
  if (unreachable === undefined) return always;
  return [...always, entry([FAILURES_THROW, failuresThrow], unreachable)];
}

async function failuresThrow(bench: LoginBench): Promise<void> {
  const proof = await bench.proof();
  const { store } = bench;
  const login = { ...bench.login(proof), id: "1" };
  const { guard, userId, id, tokenHash, ip, userAgent, lastUsedAt, expiresAt } = login;
  await assertEachFails({
    find: () => store.find(guard, tokenHash),
    findToken: () => store.findToken(guard, [tokenHash]),
    start: () => store.start(login, proof),
    renew: () => store.renew({ guard, userId, id, tokenHash }, { tokenHash, authenticatedAt: lastUsedAt }, proof),
    touch: () => store.touch({ guard, id, ip, userAgent, lastUsedAt, expiresAt }),
    list: () => store.list({ guard, userId }, { limit: 1 }),
    "end by token": () => store.end({ guard, tokenHash }),
    "end by key": () => store.end({ guard, userId, id }),
    endAll: () => store.endAll({ guard, userId }),
    endOldest: () => store.endOldest({ guard, userId }, 1),
    prune: () => store.prune(bench.pruning()),
  });
}
