// What judges in TypeScript read and write for sdd-eval. It runs under node (tsx), bun and deno, and needs no package.
// `sdd-eval init --judge ts` writes it. Keys are those of the JSON; {camelCase: true} renames those of the input.

/** A call of a tool. What is unknown is left out. */
export interface ToolCall {
  tool: string;
  input?: unknown;
  output?: unknown;
  id?: string;
  /** When it started, by RFC 3339. */
  timestamp?: string;
  duration_ms?: number;
}

export interface Message {
  role: string;
  content: string;
  tool_calls?: ToolCall[];
  name?: string;
  metadata?: Record<string, unknown>;
}

export interface TraceSummary {
  /** The number of tool calls, and of those that failed. */
  event_count: number;
  error_count: number;
  tool_names: string[];
  tool_calls_by_name: Record<string, number>;
  token_usage?: { input: number; output: number; cached?: number };
  cost_usd?: number;
  duration_ms?: number;
  /** Milliseconds, by tool. */
  tool_durations?: Record<string, number[]>;
}

/** What a judge and a prompt template read. `compat: agentv` leaves out the optional keys. */
export interface JudgeInput<Config = unknown> {
  question: string;
  candidate_answer: string;
  expected_outcome: string;
  reference_answer: string;
  expected_messages: Message[];
  input_messages: Message[];
  output_messages: Message[] | null;
  input_files: string[];
  guideline_files: string[];
  trace_summary: TraceSummary | null;
  config: Config;
  schema_version?: number;
  workspace_path?: string;
  /** The unified diff of what the agent changed. */
  file_changes?: string;
  metrics?: unknown;
}

/** A check of a verdict; it needs an id or a text. */
export interface Check {
  id?: string;
  text?: string;
  pass: boolean;
  score?: number;
  reason?: string;
}

/** What a judge writes, in one of two forms. Scores are from 0 to 1. */
export type Verdict =
  | { score: number; hits?: string[]; misses?: string[]; reasoning?: string; details?: object }
  | { pass: boolean; score?: number; reason?: string; checks?: Check[]; details?: object };

type CamelKey<S extends string> = S extends `${infer A}_${infer B}` ? `${A}${Capitalize<CamelKey<B>>}` : S;

/** Values of these keys are data, in which nothing is renamed. */
type Data = "config" | "input" | "output" | "metadata" | "metrics" | "tool_calls_by_name" | "tool_durations";
const data = new Set<string>([
  "config", "input", "output", "metadata", "metrics", "tool_calls_by_name", "tool_durations",
] satisfies Data[]);

/** A type with camelCase for snake_case in its keys. */
export type CamelCase<T> = T extends (infer E)[]
  ? CamelCase<E>[]
  : T extends object
    ? { [K in keyof T as CamelKey<K & string>]: K extends Data ? T[K] : CamelCase<T[K]> }
    : T;

function camelCase(v: unknown): unknown {
  if (Array.isArray(v)) return v.map(camelCase);
  if (typeof v !== "object" || v === null) return v;
  return Object.fromEntries(
    Object.entries(v).map(([key, value]) => [
      key.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase()),
      data.has(key) ? value : camelCase(value),
    ]),
  );
}

/** How an input is read. */
export interface Options {
  camelCase?: boolean;
}

type Handler<In, Out> = (input: In) => Out | Promise<Out>;

/** Runs a judge: reads its input, and writes the verdict. An error ends the process with 1, which is no verdict. */
export function defineCodeJudge<Config = any>(
  judge: Handler<CamelCase<JudgeInput<Config>>, Verdict>, options: { camelCase: true },
): void;
export function defineCodeJudge<Config = any>(judge: Handler<JudgeInput<Config>, Verdict>, options?: Options): void;
export function defineCodeJudge(judge: Handler<any, Verdict>, options: Options = {}): void {
  void run(judge, options, (verdict) => JSON.stringify(verdict));
}

/** Runs a template: reads the same input, and writes the prompt for the model that judges. */
export function definePromptTemplate<Config = any>(
  template: Handler<CamelCase<JudgeInput<Config>>, string>, options: { camelCase: true },
): void;
export function definePromptTemplate<Config = any>(
  template: Handler<JudgeInput<Config>, string>, options?: Options,
): void;
export function definePromptTemplate(template: Handler<any, string>, options: Options = {}): void {
  void run(template, options, (prompt) => prompt);
}

// The parts of the runtimes that are used, so that no package of types is needed.
declare const process: {
  env: Record<string, string | undefined>;
  exitCode?: number | string | null | undefined;
  stdin: AsyncIterable<unknown> & { setEncoding(encoding: "utf8"): unknown };
  stdout: { write(text: string): unknown };
  stderr: { write(text: string): unknown };
};
declare function fetch(url: string, init: {
  method: string; headers: Record<string, string>; body?: string;
}): Promise<{ ok: boolean; status: number; text(): Promise<string>; json(): Promise<unknown> }>;

async function run<Out>(handle: Handler<any, Out>, options: Options, written: (out: Out) => string): Promise<void> {
  try {
    let text = "";
    process.stdin.setEncoding("utf8");
    for await (const chunk of process.stdin) text += String(chunk);
    const input: unknown = JSON.parse(text);
    process.stdout.write(written(await handle(options.camelCase ? camelCase(input) : input)));
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`);
    process.exitCode = 1;
  }
}

/** A question to a model; target is its name, where the playbook names none. */
export interface Question {
  question: string;
  systemPrompt?: string;
  target?: string;
}

export interface Answer {
  output: { role: string; content: string }[];
  rawText?: string;
  tokenUsage?: { input: number; output: number; cached?: number };
}

export interface TargetInfo {
  targetName: string;
  maxCalls: number;
  callCount: number;
  availableTargets: string[];
}

export interface TargetClient {
  invoke(question: Question): Promise<Answer>;
  /** Asks all of the questions, or none if they are too many. */
  invokeBatch(questions: Question[]): Promise<Answer[]>;
  getInfo(): Promise<TargetInfo>;
}

/** Returns a client of the models that the playbook's `target` lets this judge ask, undefined if it lets it ask none. */
export function createTargetClient(): TargetClient | undefined {
  const { env } = process;
  const url = env.EVALTEST_TARGET_PROXY_URL ?? env.AGENTV_TARGET_PROXY_URL;
  const token = env.EVALTEST_TARGET_PROXY_TOKEN ?? env.AGENTV_TARGET_PROXY_TOKEN;
  if (!url) return undefined;
  if (!token) throw new Error("the address of the proxy is set, and its token is not");
  const call = async (path: string, body?: unknown): Promise<any> => {
    const response = await fetch(url.replace(/\/+$/, "") + path, {
      method: body === undefined ? "GET" : "POST",
      headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    if (!response.ok) throw new Error(`${path}: status ${response.status}: ${await response.text()}`);
    return response.json();
  };
  return {
    invoke: (question) => call("/invoke", question),
    invokeBatch: async (requests) => (await call("/invokeBatch", { requests })).responses,
    getInfo: () => call("/info"),
  };
}
