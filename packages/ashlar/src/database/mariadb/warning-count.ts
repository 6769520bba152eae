/** The packet at the end of a result; only the members that we use. */
interface EndPacket {
  isEOF(): boolean;
  eofWarningCount(): number;
}

/** A statement of `mysql2` that is being run. */
interface RunningStatement {
  execute(packet: EndPacket | undefined, ...others: readonly unknown[]): unknown;
}

/**
 * Reads the number of warnings that the server reports with the rows of a statement, which `mysql2` receives but doesn't
 * pass on. It uses undocumented members: if they are gone, the count is unknown.
 *
 * @returns a function that returns the number once the statement has ended; `null` if it is unknown
 */
export function warningCount(statement: unknown): () => number | null {
  const running = statement as Partial<RunningStatement>;
  const { execute } = running;
  let count: number | null = null;
  if (typeof execute !== "function") return () => null;
  running.execute = (packet, ...others) => {
    // The list of columns ends with such a packet too. The one for the rows comes last.
    if (packet?.isEOF?.() === true) count = packet.eofWarningCount?.() ?? null;
    return execute.call(running, packet, ...others);
  };
  return () => count;
}
