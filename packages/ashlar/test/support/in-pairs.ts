/**
 * Returns a function that runs tasks two at once, in order: as many logins as an account may have at the same time without
 * being refused.
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
