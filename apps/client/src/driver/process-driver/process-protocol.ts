/** Version of the conversation between agent and driver process. Another number means that the two do not understand each other. */
export const PROCESS_PROTOCOL = 1;
