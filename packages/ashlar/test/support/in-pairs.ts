/**
 * Returns a function that runs tasks in order, two at once, which is how many logins an account may have at the same
 * time.
 */
export function inPairs(): <T>(task: () => Promise<T>) => Promise<T> {
  let turns: readonly Promise<unknown>[] = [Promise.resolve(), Promise.resolve()];
  return (task) => {
    const [turn, next] = turns;
    const done = turn!.then(task);
    turns = [next!, done.catch(() => {})];
    return done;
  };
}
