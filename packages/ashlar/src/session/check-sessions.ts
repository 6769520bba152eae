import type { CheckContext } from "../boot/index.ts";
import { MissingTableError } from "../database/index.ts";
import { limited, reasonOf } from "../support/index.ts";

const FILE = "config/session.ts";
/** How long the store may take to respond, in seconds. */
const SECONDS = 8;

/** Checks whether the session store can be reached. */
export async function run({ application, error }: CheckContext): Promise<void> {
  const { container } = application();
  try {
    await limited(SECONDS, "The session store", () => container.make("session").keeper.check?.());
  } catch (thrown) {
    if (thrown instanceof MissingTableError) return error("sessions.store", thrown.asFound(FILE));
    const problem = `The store of the sessions can't be reached: ${reasonOf(thrown)}`;
    error("sessions.store", { file: FILE, problem, note: `Start its server, or correct its address in ${FILE}.` });
  }
}
