import type { MaybePromise } from "../../../support/index.ts";
import type { AccountUser } from "../../users/account-store.ts";
import type { GuardUsers } from "../users/guard-users.ts";
import type { UserDeletion } from "./user-deletion.ts";

/**
 * Removes one of a user's ways to log in, unless it is the last. The user's row is locked before anything is removed or
 * counted, so if the last two are removed at the same time, one of them stays.
 *
 * @param remove deletes it, in the same transaction
 * @param isAnotherLeft returns whether the user still has a way to begin a login
 * @returns whether it was removed; `false`, with nothing changed, if it is the last one
 */
export function removeMethod(
  { deletion, users }: { readonly deletion: UserDeletion; readonly users: GuardUsers },
  { guard, own }: { readonly guard: string; readonly own: AccountUser },
  remove: () => MaybePromise<void>,
  isAnotherLeft: () => Promise<boolean>,
): Promise<boolean> {
  return unlessUndone(async (undo) => {
    await users.transaction(guard, async () => {
      await deletion.lock(own);
      await remove();
      if (!(await isAnotherLeft())) throw undo;
    });
  });
}

/**
 * Runs work that may decide to be rolled back.
 *
 * @param work throws its argument to undo everything
 * @returns whether its effects stay
 */
async function unlessUndone(work: (undo: Error) => Promise<void>): Promise<boolean> {
  const undo = new Error("undone");
  try {
    await work(undo);
    return true;
  } catch (error) {
    if (error === undo) return false;
    throw error;
  }
}
