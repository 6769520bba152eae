/** One way to pass a login step, or to give a proof again, as the server lists them in `flows`. */
export interface ClientFlow {
  /** What it is: `totp`, `recovery_code`, `passkey`; for a guest, `login` or `register`. */
  readonly id: string;
  /** The input that the proof is sent in: `code`, `assertion`. */
  readonly field?: string;
  /** Where the input is sent, by POST: a path, or a URL. */
  readonly url?: string;
  readonly [further: string]: unknown;
}

/** A proof for a flow, as the inputs of a request. */
export function inputsOf({ field }: ClientFlow, proof: unknown): Readonly<Record<string, unknown>> {
  return field === undefined ? {} : { [field]: proof };
}

/** Reads the flows of a response; empty if it has none. */
export function flowsIn(flows: unknown): readonly ClientFlow[] {
  return Array.isArray(flows) ? flows.filter((flow) => typeof flow?.id === "string") : [];
}
