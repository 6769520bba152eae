/** Registers a function to run at the end. */
export type Undo = (what: () => unknown) => void;

const running = new Set<(() => unknown)[]>();

/**
 * Runs a function and then, even if it failed, the functions that it passed to `undo`, the last one first. If one of them
 * fails, the others still run.
 */
export async function undoing<Result>(run: (undo: Undo) => Promise<Result>): Promise<Result> {
  const stack: (() => unknown)[] = [];
  running.add(stack);
  try {
    return await run((what) => void stack.push(what));
  } finally {
    await finish(stack);
    running.delete(stack);
  }
}

/** Runs everything that was passed to `undo` now, because the process is about to end. */
export async function undoEverything(): Promise<void> {
  for (const stack of [...running].toReversed()) await finish(stack);
}

async function finish(stack: (() => unknown)[]): Promise<void> {
  for (let what = stack.pop(); what !== undefined; what = stack.pop()) {
    try {
      await what();
    } catch (error) {
      console.error(error);
    }
  }
}
