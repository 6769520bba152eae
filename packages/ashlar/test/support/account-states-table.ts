/** The response from a page or route to an account in one state. */
export interface StateAnswer {
  readonly state: string;
  readonly request: string;
  readonly answer: string;
  /** What's wrong with the response, such as a failure or a dead end, or `null`. */
  readonly problem: string | null;
}

/** A Markdown table: each request with its responses, and which states get each response. */
export function asTable(answers: readonly StateAnswer[]): string {
  const requests = new Map<string, Map<string, string[]>>();
  for (const { request, answer, state } of answers) {
    const byAnswer = requests.get(request) ?? new Map<string, string[]>();
    requests.set(request, byAnswer);
    const states = byAnswer.get(answer) ?? [];
    byAnswer.set(answer, states);
    if (!states.includes(state)) states.push(state);
  }
  const lines = ["| request | response | states |", "|---|---|---|"];
  const all = new Set(answers.map(({ state }) => state)).size;
  for (const [request, byAnswer] of requests) {
    let first = `\`${request}\``;
    for (const [answer, states] of byAnswer) {
      lines.push(`| ${first} | ${answer} | ${states.length === all ? "all" : states.join(", ")} |`);
      first = "";
    }
  }
  return lines.join("\n");
}
