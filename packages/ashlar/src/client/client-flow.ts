/** One way to pass a login step, or to confirm a login, as listed by the server in `flows`. */
export interface ClientFlow {
  /** The flow's name: `totp`, `recovery_code`, `passkey`; for a guest, `login` or `register`. */
  readonly id: string;
  /** The name of the input for the proof: `code`, `assertion`. */
  readonly field?: string;
  /** The path or URL to POST the input to. */
  readonly url?: string;
  readonly [further: string]: unknown;
}

/** The proof for a flow, as inputs of a request. */
export function inputsOf({ field }: ClientFlow, proof: unknown): Readonly<Record<string, unknown>> {
  return field === undefined ? {} : { [field]: proof };
}

/** Returns the flows in a response; empty if it has none. */
export function flowsIn(flows: unknown): readonly ClientFlow[] {
  return Array.isArray(flows) ? flows.filter((flow) => typeof flow?.id === "string") : [];
}
