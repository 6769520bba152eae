/**
 * Runs a function, and sends what other code prints to standard error meanwhile: an application's modules may print when
 * they are loaded, and standard output is for the report alone.
 */
export async function withoutOutput<T>(work: () => Promise<T>): Promise<T> {
  const { stdout, stderr } = process;
  const write = stdout.write;
  stdout.write = stderr.write.bind(stderr) as typeof stdout.write;
  try {
    return await work();
  } finally {
    stdout.write = write;
  }
}
