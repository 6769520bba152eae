import type { AccountStore, AccountUser, NewAccount } from "../../auth/index.ts";
import type { MaybePromise } from "../../support/index.ts";
import { AccountBench, type AccountStoreTest, type AccountStoreUnderTest } from "./account-store/account-store-test.ts";
import { CHANGES } from "./account-store/changes.ts";
import { CREATION } from "./account-store/creation.ts";
import { LOOKUPS } from "./account-store/lookups.ts";
import { TRANSACTIONS } from "./account-store/transactions.ts";
import { VERIFICATION } from "./account-store/verification.ts";
import { assertEachFails, FAILURES_THROW, type SuiteTest } from "./suite-test.ts";

/** Options of {@link accountStoreSuite}. */
export interface AccountStoreSuiteOptions {
  /** Creates a store whose server cannot be reached; default: the test that needs one is skipped. */
  readonly unreachable?: () => MaybePromise<AccountStoreUnderTest>;
}

/**
 * Tests the contract of {@link AccountStore}.
 *
 * @param make creates an empty store; called once for each test
 */
export function accountStoreSuite(
  make: () => MaybePromise<AccountStoreUnderTest>,
  { unreachable }: AccountStoreSuiteOptions = {},
): readonly SuiteTest[] {
  const entry = ([title, run]: AccountStoreTest): SuiteTest => ({
    title,
    async run() {
      const made = await make();
      try {
        await run(new AccountBench(made));
      } finally {
        await made.end?.();
      }
    },
  });
  const always = [...CREATION, ...LOOKUPS, ...CHANGES, ...VERIFICATION, ...TRANSACTIONS].map(entry);
  if (unreachable === undefined) return always;
  const failures: AccountStoreTest = [
    FAILURES_THROW,
    async (bench) => {
      const user = await bench.created();
      const { store, end } = await unreachable();
      try {
        await failuresThrow(store, user, bench.account(1));
      } finally {
        await end?.();
      }
    },
  ];
  return [...always, entry(failures)];
}

async function failuresThrow(store: AccountStore, user: AccountUser, account: NewAccount): Promise<void> {
  await assertEachFails({
    findByAuthId: () => store.findByAuthId(user.authId()),
    findByIdentifier: () => store.findByIdentifier(user.email!),
    findByEmail: () => store.findByEmail(user.email!),
    create: () => store.create(account),
    update: () => store.update(user, { passwordHash: "!" }, {}),
    delete: () => store.delete(user),
    existing: () => store.existing("email", [user.email!]),
    transaction: () => store.transaction(() => store.findByEmail(user.email!)),
  });
}
