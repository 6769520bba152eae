/** Keeps something to be done at the end. */
export type Undo = (what: () => unknown) => void;

const running = new Set<(() => unknown)[]>();

/**
 * Runs a function, and then, whatever has happened, what it gave to `undo`: the last first. One that fails doesn't keep the
 * others from being done.
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

/** Does at once what all running functions gave to `undo`: the process is about to end. */
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
